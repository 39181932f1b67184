import assert from "node:assert/strict";
import { test } from "node:test";
import { run } from "../lib/run.mjs";

test("a program that takes longer than it may is ended, and counts as failed", async () => {
  const forever = ["-e", "process.stdout.write('here'); setInterval(() => {}, 1000)"];
  const { code, output } = await run(process.execPath, forever, { output: "keep", most: 1_000 });
  assert.deepEqual([code, output], [1, "here"]);
});

test("a program that ends in time is not", async () => {
  const { code } = await run(process.execPath, ["-e", "0"], { output: "keep", most: 60_000 });
  assert.equal(code, 0);
});
