import assert from "node:assert/strict";
import { test } from "node:test";
import { inEachEncoding } from "./lib/suite.mjs";

const EXACT = "bare";

/** Value, what the actor must see, and the encodings in which the client can say it at all. */
const VALUES = [
  ["a small BigInt", 42n, "bigint 42"],
  ["a BigInt beyond 64 bits", 2n ** 80n, `bigint ${2n ** 80n}`, [EXACT, "json"]],
  ["a negative BigInt", -(2n ** 62n), `bigint ${-(2n ** 62n)}`],
  ["bytes", Uint8Array.of(0, 127, 128, 255), "bytes 0,127,128,255"],
  ["no bytes", new Uint8Array(), "bytes "],
  ["undefined", undefined, "undefined", [EXACT]],
  ["null", null, "null"],
  ["nested arrays", [1, [2, [3, []]], [[["x"]]]], '[1; [2; [3; []]]; [[["x"]]]]'],
  ["an array with a BigInt and bytes inside", [[1n], [Uint8Array.of(9)]], "[[bigint 1]; [bytes 9]]"],
  ["an array that looks like a tag", ["$a", 2], '["$a"; 2]', [EXACT, "json"]],
  ["a Set", new Set([1, 2]), "set 1,2", [EXACT]],
  ["a Date", new Date(86_400_000), "date 1970-01-02T00:00:00.000Z", [EXACT]],
  ["a Map", new Map([["k", 1]]), 'map [["k",1]]', [EXACT]],
  ["a large integer", 2 ** 53 - 1, String(2 ** 53 - 1)],
  ["a fraction", -0.125, "-0.125"],
  ["text outside ASCII", "grün 🎭 \u0000", JSON.stringify("grün 🎭 \u0000")],
  ["an object", { a: [true, null], "": { b: "" } }, '{"a":[true,null],"":{"b":""}}'],
];

inEachEncoding("values", ({ encoding = EXACT, client, key }) => {
  for (const [title, value, seen, where] of VALUES) {
    if (where && !where.includes(encoding)) continue;
    test(`${title} reaches the actor and comes back`, async () => {
      const handle = client().echo.getOrCreate(key());
      assert.equal(await handle.describe(value), seen);
      const back = await handle.same(value);
      assert.deepEqual(normalize(back), normalize(value));
    });
  }

  test("an action without a result answers undefined, one that returns null null", async () => {
    const handle = client().echo.getOrCreate(key());
    assert.equal(await handle.nothing(), undefined);
    assert.equal(await handle.nil(), null);
  });

  test("the number of arguments is kept", async () => {
    const handle = client().echo.getOrCreate(key());
    assert.equal(await handle.count(), 0);
    assert.equal(await handle.count(null), 1);
    assert.equal(await handle.count([], [1, 2], {}), 3);
  });
});

/** Bytes may come back as a Buffer, which is a Uint8Array all the same. */
function normalize(value) {
  if (value instanceof Uint8Array) return Uint8Array.from(value);
  return Array.isArray(value) ? value.map(normalize) : value;
}
