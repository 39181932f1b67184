import { describe, expect, test } from "vitest";
import { decodeCbor, encodeCbor } from "../../ts/codec/index";
import { cborOnlyValues, largeText, roundTripValues } from "../fixtures/values";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const bytes = (text: string) => new Uint8Array(Buffer.from(text.replaceAll(" ", ""), "hex"));

describe("a value that is encoded and decoded", () => {
  test.each([...roundTripValues, ...cborOnlyValues, ["large text", [largeText, "ü".repeat(70_000)]]])(
    "is the same again: %s",
    (_, value) => {
      expect(decodeCbor(encodeCbor(value))).toStrictEqual(value);
    },
  );

  test("keeps name and message of an error, and its class if it is a standard one", () => {
    const custom = Object.assign(new Error("mine"), { name: "CustomError" });
    const [known, own] = decodeCbor(encodeCbor([new RangeError("too far"), custom])) as Error[];
    expect(known).toBeInstanceOf(RangeError);
    expect(known?.message).toBe("too far");
    expect([own?.name, own?.message]).toEqual(["CustomError", "mine"]);
    const odd = Object.assign(new Error("mine"), { name: "$Error" });
    expect(decodeCbor(encodeCbor(odd))).toMatchObject({ name: "$Error", message: "mine" });
  });

  test("is independent of the buffer it came from", () => {
    const encoded = encodeCbor(new Uint8Array([1, 2, 3]));
    const decoded = decodeCbor(encoded) as Uint8Array;
    encoded.fill(0);
    expect([...decoded]).toEqual([1, 2, 3]);
  });

  test("stands for undefined when there are no bytes", () => {
    expect(decodeCbor(new Uint8Array(0))).toBeUndefined();
  });
});

describe("the bytes", () => {
  test.each([
    ["undefined", undefined, "82 6a 24556e646566696e6564 00"],
    ["null", null, "f6"],
    ["one small argument", [4], "81 04"],
    ["bigint", 123n, "82 67 24426967496e74 63 313233"],
    ["bytes", new Uint8Array([1, 2]), "82 6b 2455696e74384172726179 64 4151493d"],
    ["an escaped array", ["$a", 2], "82 63 242461 02"],
    ["a date in whole seconds", new Date(1000), "c1 01"],
    ["a map", new Map([[1, 2]]), "d9 0103 a1 01 02"],
    ["a 32-bit array", new Int32Array([1]), "d8 4e 44 01000000"],
  ])("of %s are those of the published packages", (_, value, expected) => {
    expect(hex(encodeCbor(value))).toBe(expected.replaceAll(" ", ""));
  });

  test("of integers beyond 32 bits are a float, so that no reader sees a bigint", () => {
    expect(hex(encodeCbor(2 ** 40))).toMatch(/^fb/);
  });
});

describe("decoding what others write", () => {
  test.each([
    ["a map with a 16-bit length", "b9 0001 61 6a 01", { j: 1 }],
    ["plain undefined", "f7", undefined],
    ["a small 64-bit integer, which only a BigInt is written as", "1b 0000000000000005", 5n],
    ["a negative 64-bit integer", "3b 0000000000000005", -6n],
    ["a 64-bit integer that does not", "1b ffffffffffffffff", 2n ** 64n - 1n],
    ["a big integer", "c2 42 0100", 256n],
    ["a negative big integer", "c3 42 0100", -257n],
    ["a set tag", "d9 0102 82 01 02", new Set([1, 2])],
    ["indefinite arrays, maps and text", "9f bf 61 61 7f 61 62 61 63 ff ff ff", [{ a: "bc" }]],
    ["indefinite bytes", "5f 41 01 41 02 ff", new Uint8Array([1, 2])],
    ["a half float", "f9 3c00", 1],
    ["a subnormal half float", "f9 0001", 2 ** -24],
    ["a single float", "fa 3f000000", 0.5],
    ["a big-endian typed array", "d8 41 42 0102", new Uint16Array([258])],
    ["the self-description tag", "d9 d9f7 01", 1],
    ["a map with integer keys", "a1 01 02", { 1: 2 }],
    ["a text date", "c0 74 323032302d30312d30315430303a30303a30305a", new Date("2020-01-01T00:00:00Z")],
  ])("understands %s", (_, text, expected) => {
    expect(decodeCbor(bytes(text))).toStrictEqual(expected);
  });

  test.each([
    ["a truncated head", "19 01"],
    ["a truncated text", "63 61"],
    ["an array longer than the input", "9a ffffffff 01"],
    ["a map longer than the input", "ba ffffffff 01"],
    ["a text longer than any memory", "7b ffffffffffffffff"],
    ["bytes after the value", "01 02"],
    ["a lone break", "ff"],
    ["a break in a definite array", "82 01 ff"],
    ["a map that ends behind a key", "bf 61 61 ff"],
    ["an unfinished indefinite array", "9f 01"],
    ["text that is not UTF-8", "61 ff"],
    ["a piece of another type", "7f 41 01 ff"],
    ["reserved information", "1c"],
    ["an unknown simple value", "f8 20"],
    ["an unknown tag", "d9 0400 01"],
    ["a typed array that is none: signed bytes in an order", "d8 4c 41 01"],
    ["a typed array of half floats", "d8 50 42 0102"],
    ["a tag that looks like a typed array's in its last 32 bits", "db 0000000100000040 41 01"],
    ["an unknown $ tag", "82 62 2478 01"],
    ["a bigint tag without an integer", "82 67 24426967496e74 61 78"],
    ["a typed array of a broken length", "d8 45 41 01"],
    ["a map as a key", "a1 a0 01"],
    ["a regular expression that is none", "d8 1b 83 66 526567457870 61 28 60"],
  ])("refuses %s with a structured error", (_, text) => {
    expect(() => decodeCbor(bytes(text))).toThrow(expect.objectContaining({ group: "napi", code: "invalid_argument" }));
  });

  test("refuses nesting that would exhaust the stack", () => {
    expect(() => decodeCbor(new Uint8Array(100_000).fill(0x81))).toThrow(/nested deeper/);
  });

  test("never throws anything unstructured, whatever the bytes", () => {
    let seed = 42;
    const random = () => {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      return seed;
    };
    const outcome = (input: Uint8Array) => {
      try {
        decodeCbor(input);
      } catch (error) {
        if ((error as { group?: string }).group !== "napi") return error;
      }
      return "fine";
    };
    for (let round = 0; round < 5_000; round++) {
      const input = Uint8Array.from({ length: 1 + (random() % 24) }, () => random() >> 8);
      expect(outcome(input), hex(input)).toBe("fine");
    }
  });
});

describe("a value without an encoding", () => {
  class User {}
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  const deep = Array.from({ length: 200 }).reduce<unknown>((inner) => [inner], 0);

  test.each([
    ["a function", { user: { fn: () => 0 } }, "args.user.fn", "is a function"],
    ["a symbol", [Symbol("s")], "args[0]", "is a symbol"],
    ["a class instance", { list: [new User()] }, "args.list[0]", "an instance of User"],
    ["a promise", [Promise.resolve()], "args[0]", "an instance of Promise"],
    ["a weak map", [new WeakMap()], "args[0]", "an instance of WeakMap"],
    ["a cycle", cycle, "args.self", "refers back"],
    ["a value in a map", new Map([["k", () => 0]]), 'args.get("k")', "is a function"],
    ["a value in a set", new Set([1, () => 0]), "args.item(1)", "is a function"],
    ["an odd key", { "a b": () => 0 }, 'args["a b"]', "is a function"],
  ])("is refused with the path to it: %s", (_, value, path, reason) => {
    expect(() => encodeCbor(value, "args")).toThrow(
      expect.objectContaining({ metadata: expect.objectContaining({ argument: path }) }),
    );
    expect(() => encodeCbor(value, "args")).toThrow(reason);
  });

  test("is refused when it is nested too deep", () => {
    expect(() => encodeCbor(deep)).toThrow(/nested deeper than 128/);
  });

  test("does not spoil the next encoding", () => {
    expect(() => encodeCbor(["x".repeat(100), () => 0])).toThrow();
    expect(hex(encodeCbor([4]))).toBe("8104");
  });

  test("may be shared as long as it is no cycle", () => {
    const shared = { n: 1 };
    expect(decodeCbor(encodeCbor([shared, shared]))).toEqual([{ n: 1 }, { n: 1 }]);
  });

  test("an encoding inside a getter of another does not disturb it", () => {
    const outer = {
      get inner() {
        return encodeCbor({ nested: true }).length;
      },
      after: "text",
    };
    expect(decodeCbor(encodeCbor(outer))).toEqual({ inner: encodeCbor({ nested: true }).length, after: "text" });
  });
});
