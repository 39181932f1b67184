import { describe, expect, test } from "vitest";
import { decodeCbor as decodeInJs, encodeCbor as encodeInJs } from "../../ts/codec/index";
import { cborOnlyValues, roundTripValues } from "../fixtures/values";
import { decode, encode, native, thrown } from "./addon";

const values = [...roundTripValues, ...cborOnlyValues];
const bytes = (text: string) => Buffer.from(text.replaceAll(" ", ""), "hex");

describe("the native codec", () => {
  test.each(values)("carries through: %s", (_, value) => {
    expect(decode(encode(value))).toStrictEqual(value);
  });

  test.each(values)("writes the bytes of the portable codec: %s", (_, value) => {
    expect(encode(value).toString("hex")).toBe(Buffer.from(encodeInJs(value)).toString("hex"));
  });

  test.each(values)("reads what the portable codec writes: %s", (_, value) => {
    expect(decode(encodeInJs(value))).toStrictEqual(value);
  });

  test.each([
    ["a map with a 16-bit length", "b9 0001 61 6a 01"],
    ["plain undefined", "f7"],
    ["64-bit integers", "84 1b0000000000000005 3b0000000000000005 1bffffffffffffffff 3bffffffffffffffff"],
    ["integers at the edge of numbers", "82 1b001fffffffffffff 3b001ffffffffffffe"],
    ["integers just beyond numbers", "82 1b0020000000000000 3b001fffffffffffff"],
    ["big integers", "84 c2420100 c3420100 c240 c349ffffffffffffffffff"],
    ["indefinite text", "7f 6161 6162 ff"],
    ["indefinite bytes", "5f 4101 4102 ff"],
    ["an indefinite array", "9f 01 02 03 ff"],
    ["an indefinite array that is a tag", "9f 6724426967496e74 6135 ff"],
    ["an indefinite map", "bf 6161 01 ff"],
    ["half and single floats", "83 f93c00 f9fc00 fa3fc00000"],
    ["number keys", "a2 01 02 20 03"],
    ["a big-endian typed array", "d8 41 44 00010002"],
    ["tag 258", "d90102 82 01 02"],
    ["a self-described value", "d9d9f7 01"],
    ["an error of its own name", "d81b 82 6643757374 6f6d 646d696e65"],
  ])("reads %s as the portable codec does", (_, hex) => {
    const input = bytes(hex);
    const outcome = (read: (bytes: Uint8Array) => unknown) => {
      try {
        return read(input);
      } catch {
        return "refused";
      }
    };
    expect(outcome(decode)).toStrictEqual(outcome(decodeInJs));
  });

  test("reads no bytes as undefined", () => {
    expect(decode(new Uint8Array(0))).toBeUndefined();
  });

  test.each([
    ["ends early", "82 01"],
    ["has bytes left", "01 01"],
    ["has a break alone", "ff"],
    ["announces more than there is", "9b ffffffffffffffff"],
    ["holds text that is not UTF-8", "61 ff"],
    ["has a map with odd keys", "a1 80 01"],
    ["has an unknown tag name", "82 64 24466f6f 01"],
    ["has a BigInt of letters", "82 67 24426967496e74 61 78"],
    ["has bytes that are not base64", "82 6b 2455696e74384172726179 61 21"],
    ["has a set that is no array", "82 64 24536574 01"],
    ["has a date of text", "c1 61 78"],
    ["has an unknown CBOR tag", "d8 63 01"],
    ["has half an element", "d8 45 43 010203"],
    ["has a bad regular expression", "d81b 83 66526567457870 61 28 60"],
    ["nests without end", "81".repeat(600)],
  ])("refuses input that %s, naming the argument", (_, hex) => {
    const error = thrown(() => decode(bytes(hex)));
    expect([error.group, error.code, error.metadata.argument]).toEqual(["napi", "invalid_argument", "bytes"]);
  });

  class Point {
    x = 1;
  }
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  test.each([
    ["a function", { user: { fn: () => {} } }, "args[0].user.fn", "function"],
    ["a symbol", [Symbol("x")], "args[0][0]", "symbol"],
    ["a class instance", { "odd key": new Point() }, 'args[0]["odd key"]', "instance of Point"],
    ["a function inside a map", new Map([[{ a: 1 }, () => {}]]), "args[0].value(0)", "function"],
    ["a symbol inside a set", new Set([1, Symbol("x")]), "args[0].item(1)", "symbol"],
    ["a promise", { later: Promise.resolve() }, "args[0].later", "instance of Promise"],
    ["a DataView", { view: new DataView(new ArrayBuffer(1)) }, "args[0].view", "instance of DataView"],
  ])("refuses %s, naming its path", (_, value, path, reason) => {
    const error = thrown(() => native.encodeCbor([value], "args"));
    expect([error.group, error.code, error.metadata.argument]).toEqual(["napi", "invalid_argument", path]);
    expect(error.metadata.reason).toContain(reason);
  });

  test("refuses cycles instead of looping", () => {
    const error = thrown(() => encode(cycle));
    expect(error.metadata.argument).toMatch(/^value(\.self)+$/);
  });

  test("nests as deep as promised and no deeper", () => {
    const nested = (depth: number) => Array.from({ length: depth }).reduce((inner) => [inner], 0);
    expect(decode(encode(nested(128)))).toEqual(nested(128));
    expect(thrown(() => encode(nested(129))).code).toBe("invalid_argument");
  });

  test("passes on what a getter throws", () => {
    const trap = {
      get bad() {
        throw new RangeError("mine");
      },
    };
    expect(() => encode(trap)).toThrow(new RangeError("mine"));
  });

  test("takes objects of other realms and without prototype for plain", async () => {
    const { runInNewContext } = await import("node:vm");
    expect(decode(encode(runInNewContext("({ a: [1, new Date(5)] })")))).toEqual({ a: [1, new Date(5)] });
    expect(decode(encode(Object.assign(Object.create(null), { a: 1 })))).toEqual({ a: 1 });
  });

  test("takes no bytes away from what it was given", () => {
    const input = Buffer.from(encode("text"));
    const decoded = decode(input);
    input.fill(0);
    expect(decoded).toBe("text");
  });
});
