import { describe, expect, test } from "vitest";
import { decodeCbor, encodeCbor } from "../../ts/codec/index";
import { toRaw } from "../../ts/common/raw";
import { StateCell } from "../../ts/context/state-cell";

const cellOf = (initial: unknown) => {
  const seen = { changes: 0, refuse: false };
  const cell = new StateCell("state", () => initial, {
    beforeChange() {
      if (seen.refuse) throw new Error("refused");
    },
    changed() {
      seen.changes++;
    },
  });
  return { cell, seen, state: () => cell.view as any };
};

describe("a change through the view", () => {
  const bytes = new Uint8Array([3, 1, 2]);
  test.each<[string, unknown, (state: any) => void, unknown]>([
    ["a field", { n: 1 }, (s) => s.n++, { n: 2 }],
    ["a new field", {}, (s) => (s.n = 1), { n: 1 }],
    ["a deep field", { a: { b: [{ c: 1 }] } }, (s) => (s.a.b[0].c = 2), { a: { b: [{ c: 2 }] } }],
    ["a deleted field", { n: 1, m: 2 }, (s) => delete s.n, { m: 2 }],
    [
      "a defined property",
      {},
      (s) => Object.defineProperty(s, "n", { value: 1, enumerable: true, configurable: true, writable: true }),
      { n: 1 },
    ],
    ["Object.assign", {}, (s) => Object.assign(s, { a: 1 }), { a: 1 }],
    ["push", [1], (s) => s.push(2, 3), [1, 2, 3]],
    ["pop", [1, 2], (s) => s.pop(), [1]],
    ["splice", [1, 2, 3], (s) => s.splice(1, 1), [1, 3]],
    ["sort of objects", [{ n: 2 }, { n: 1 }], (s) => s.sort((a: any, b: any) => a.n - b.n), [{ n: 1 }, { n: 2 }]],
    ["an array's length", [1, 2, 3], (s) => (s.length = 1), [1]],
    ["an index", [1], (s) => (s[0] = 2), [2]],
    ["Map.set", new Map(), (s) => s.set("a", 1), new Map([["a", 1]])],
    ["Map.delete", new Map([["a", 1]]), (s) => s.delete("a"), new Map()],
    ["Map.clear", new Map([["a", 1]]), (s) => s.clear(), new Map()],
    ["a value inside a Map", new Map([["a", { n: 1 }]]), (s) => (s.get("a").n = 2), new Map([["a", { n: 2 }]])],
    [
      "a value met in a Map's iteration",
      new Map([["a", { n: 1 }]]),
      (s) => {
        for (const [, v] of s) v.n = 2;
      },
      new Map([["a", { n: 2 }]]),
    ],
    [
      "a value met in Map.forEach",
      new Map([["a", { n: 1 }]]),
      (s) => s.forEach((v: any) => (v.n = 2)),
      new Map([["a", { n: 2 }]]),
    ],
    ["Set.add", new Set(), (s) => s.add(1), new Set([1])],
    ["Set.delete", new Set([1]), (s) => s.delete(1), new Set()],
    [
      "a value inside a Set",
      new Set([{ n: 1 }]),
      (s) => {
        for (const v of s) v.n = 2;
      },
      new Set([{ n: 2 }]),
    ],
    ["Date.setTime", new Date(0), (s) => s.setTime(5), new Date(5)],
    ["a byte", bytes.slice(), (s) => (s[0] = 9), new Uint8Array([9, 1, 2])],
    ["bytes.sort", bytes.slice(), (s) => s.sort(), new Uint8Array([1, 2, 3])],
    ["bytes.set", bytes.slice(), (s) => s.set([7], 1), new Uint8Array([3, 7, 2])],
    ["a byte in a subarray", bytes.slice(), (s) => (s.subarray(1)[0] = 8), new Uint8Array([3, 8, 2])],
    ["Buffer.writeUInt8", Buffer.from([1, 2]), (s) => s.writeUInt8(5, 0), Buffer.from([5, 2])],
  ])("is noticed and made: %s", (_, initial, change, expected) => {
    const { cell, seen, state } = cellOf({ value: initial });
    change(state().value);
    expect(seen.changes).toBeGreaterThan(0);
    expect(cell.raw).toStrictEqual({ value: expected });
  });

  test("is not made when the watcher refuses it", () => {
    const { cell, seen, state } = cellOf({ n: 1, list: [1], map: new Map([["a", 1]]), date: new Date(0) });
    const before = structuredClone(cell.raw);
    seen.refuse = true;
    for (const change of [
      (s: any) => (s.n = 2),
      (s: any) => delete s.n,
      (s: any) => s.list.push(2),
      (s: any) => s.map.set("a", 2),
      (s: any) => s.date.setTime(1),
    ]) {
      expect(() => change(state())).toThrow("refused");
    }
    expect(() => cell.replace({})).toThrow("refused");
    expect([cell.raw, seen.changes]).toEqual([before, 0]);
  });
});

describe("what changes nothing is no change", () => {
  test.each<[string, unknown, (state: any) => unknown]>([
    ["reading deeply", { a: [{ b: 1 }] }, (s) => s.a[0].b],
    ["iterating", [1, 2], (s) => [...s, s.map((n: number) => n), s.includes(1)]],
    ["spreading", { a: { b: 1 } }, (s) => ({ ...s })],
    ["JSON", { a: new Date(0) }, (s) => JSON.stringify(s)],
    ["assigning the same primitive", { n: 1 }, (s) => (s.n = 1)],
    ["deleting what is not there", { n: 1 }, (s) => delete s.m],
    ["adding to a Set what it has", new Set([1]), (s) => s.add(1)],
    ["deleting from a Map what it lacks", new Map([["a", 1]]), (s) => s.delete("b")],
    ["clearing an empty Map", new Map(), (s) => s.clear()],
    [
      "reading a Map and a Set",
      new Map([["a", new Set([1])]]),
      (s) => [s.size, s.get("a").has(1), [...s.keys()], [...s.values()]],
    ],
    ["reading a Date", new Date(0), (s) => [s.getTime(), `${s}`, s.toISOString()]],
    ["reading bytes", new Uint8Array([1]), (s) => [s.length, s[0], s.slice(), s.at(0), [...s]]],
  ])("%s", (_, initial, read) => {
    const { seen, state } = cellOf({ value: initial });
    read(state().value);
    expect(seen.changes).toBe(0);
  });
});

describe("a value that cannot be stored", () => {
  class User {}
  test.each<[string, (state: any) => void, string]>([
    ["a function", (s) => (s.user.fn = () => 0), "state.user.fn is a function"],
    ["a symbol", (s) => (s.x = Symbol("s")), "state.x is a symbol"],
    ["an instance", (s) => (s.user.profile = { of: new User() }), "state.user.profile.of is an instance of User"],
    ["in a pushed object", (s) => s.list.push({ cb: () => 0 }), "state.list[1].cb is a function"],
    ["in a Map", (s) => s.map.set("k", () => 0), "state.map.get(…) is a function"],
    ["under an odd name", (s) => (s["a b"] = () => 0), 'state["a b"] is a function'],
    ["under a symbol", (s) => (s[Symbol("k")] = 1), "has a symbol as its name"],
    ["a cycle", (s) => (s.user.self = s), "refers back"],
    ["an accessor", (s) => Object.defineProperty(s, "x", { get: () => 1 }), "state.x is an accessor"],
    ["a promise", (s) => (s.p = Promise.resolve()), "state.p is an instance of Promise"],
  ])("is refused at once with its path: %s", (_, assign, message) => {
    const { cell, seen, state } = cellOf({ user: {}, list: [0], map: new Map() });
    const before = structuredClone(cell.raw);
    expect(() => assign(state())).toThrow(message);
    expect(() => assign(state())).toThrow(TypeError);
    expect([cell.raw, seen.changes]).toEqual([before, 0]);
  });

  test("is refused as a whole state, too", () => {
    const { cell } = cellOf({});
    expect(() => cell.replace({ a: { fn: () => 0 } })).toThrow("state.a.fn is a function");
  });
});

describe("the view", () => {
  test("is the same object for the same value", () => {
    const { state } = cellOf({ a: { b: 1 }, list: [{ n: 1 }] });
    expect(state().a).toBe(state().a);
    expect(state().list[0]).toBe(state().list.find((item: any) => item.n === 1));
    expect(state().list.indexOf(state().list[0])).toBe(0);
  });

  test("finds an object of the caller's own in an array", () => {
    const { state } = cellOf({ list: [] });
    const mine = { n: 1 };
    state().list.push(mine);
    expect(state().list.includes(mine)).toBe(true);
    mine.n = 2;
    expect(state().list[0].n).toBe(2);
  });

  test("leaves no proxy in the state, however it was assigned", () => {
    const { cell, state } = cellOf({ list: [{ n: 1 }], map: new Map([["k", { m: 1 }]]) });
    cell.replace({ ...state(), copy: [...state().list], set: new Set([state().list[0]]), map2: new Map(state().map) });
    const holdsProxy = (value: unknown): boolean => {
      if (toRaw(value) !== value) return true;
      if (value instanceof Map) return [...value].flat().some(holdsProxy);
      if (value instanceof Set) return [...value].some(holdsProxy);
      return typeof value === "object" && value !== null && Object.values(value).some(holdsProxy);
    };
    expect(holdsProxy(cell.raw)).toBe(false);
    expect(cell.raw).toEqual({
      list: [{ n: 1 }],
      map: new Map([["k", { m: 1 }]]),
      copy: [{ n: 1 }],
      set: new Set([{ n: 1 }]),
      map2: new Map([["k", { m: 1 }]]),
    });
  });

  test("accepts frozen values and shows them", () => {
    const { cell, state } = cellOf({ list: [{ n: 1 }] });
    state().frozen = Object.freeze({ inner: Object.freeze([state().list[0]]) });
    expect(state().frozen.inner[0].n).toBe(1);
    expect(encodeCbor(cell.raw)).toBeInstanceOf(Uint8Array);
    const mine = { tags: ["a"] };
    state().mine = mine;
    Object.freeze(mine);
    expect(state().mine.tags[0]).toBe("a");
  });

  test("cannot be frozen or given another prototype", () => {
    const { state } = cellOf({});
    expect(() => Object.freeze(state())).toThrow(TypeError);
    expect(() => Object.setPrototypeOf(state(), null)).toThrow(TypeError);
  });

  test("looks like what it shows", () => {
    const { state } = cellOf({ list: [1], map: new Map([["a", 1]]), set: new Set([1]), date: new Date(0), re: /x/ });
    expect(Array.isArray(state().list)).toBe(true);
    expect(state().map).toBeInstanceOf(Map);
    expect([state().map.size, state().set.size]).toEqual([1, 1]);
    expect(state().date).toBeInstanceOf(Date);
    expect(new Map(state().map)).toEqual(new Map([["a", 1]]));
    expect(state().re.test("x")).toBe(true);
    expect(Object.keys(state())).toEqual(["list", "map", "set", "date", "re"]);
    expect(state().map.set("b", 2)).toBe(state().map);
  });

  test("is encoded like the value behind it", () => {
    const value = { map: new Map([["a", { n: 1 }]]), bytes: new Uint8Array([1]), set: new Set([1]), date: new Date(0) };
    const { state } = cellOf(value);
    expect(
      decodeCbor(encodeCbor({ whole: state(), part: [state().map, state().bytes, state().set, state().date] })),
    ).toEqual({
      whole: value,
      part: [value.map, value.bytes, value.set, value.date],
    });
  });

  test("of a primitive state is the primitive", () => {
    const { cell, seen } = cellOf(1);
    expect(cell.view).toBe(1);
    cell.replace(2);
    expect([cell.view, seen.changes]).toEqual([2, 1]);
  });

  test("loads its state when it is first looked at", () => {
    let loads = 0;
    const cell = new StateCell("state", () => ++loads, { beforeChange() {}, changed() {} });
    expect(cell.loaded).toBe(false);
    expect([cell.view, cell.view, loads, cell.loaded]).toEqual([1, 1, 1, true]);
  });
});
