import { describe, expect, test } from "vitest";
import { parseTagged, stringifyTagged, toJsonValue } from "../../ts/codec/json";
import { roundTripValues } from "../fixtures/values";

const inJson = roundTripValues.filter(([name]) => !["negative zero", "not a number and infinities"].includes(name));

describe("tagged JSON", () => {
  test.each(inJson)("carries %s", (_, value) => {
    expect(parseTagged(stringifyTagged(value))).toStrictEqual(value);
  });

  test("writes what JSON has no form for in the nearest one it has", () => {
    const value = {
      date: new Date(0),
      map: new Map([["a", 1]]),
      re: /x/g,
      numbers: new Int16Array([1]),
      nan: Number.NaN,
    };
    expect(JSON.parse(stringifyTagged(value))).toEqual({
      date: "1970-01-01T00:00:00.000Z",
      map: { a: 1 },
      re: "/x/g",
      numbers: [1],
      nan: null,
    });
  });

  test("names the path of what it cannot write", () => {
    expect(() => toJsonValue({ a: [() => 0] }, "metadata")).toThrow("'metadata.a[0]': is a function");
  });

  test("refuses unknown tags and text that is no JSON", () => {
    expect(() => parseTagged('["$Nope", 1]')).toThrow(/unknown value tag/);
    expect(() => parseTagged("{")).toThrow(expect.objectContaining({ group: "napi" }));
  });
});
