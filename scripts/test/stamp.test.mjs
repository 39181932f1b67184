import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { fingerprint, unlessFresh } from "../lib/stamp.mjs";

function folder(t) {
  const path = mkdtempSync(join(tmpdir(), "greenroom-stamp-"));
  t.after(() => rmSync(path, { recursive: true, force: true, maxRetries: 20 }));
  return path;
}

test("the fingerprint follows names, contents and extra texts, not times", (t) => {
  const base = folder(t);
  mkdirSync(join(base, "src"));
  writeFileSync(join(base, "src", "a.rs"), "one");
  const first = fingerprint(base, ["src"], ["rustc 1"]);
  writeFileSync(join(base, "src", "a.rs"), "one");
  assert.equal(fingerprint(base, ["src"], ["rustc 1"]), first);
  assert.notEqual(fingerprint(base, ["src"], ["rustc 2"]), first);
  writeFileSync(join(base, "src", "b.rs"), "");
  assert.notEqual(fingerprint(base, ["src"], ["rustc 1"]), first);
});

test("bytes cannot move between two files without a new fingerprint", (t) => {
  const base = folder(t);
  writeFileSync(join(base, "a"), "xy");
  writeFileSync(join(base, "b"), "z");
  const first = fingerprint(base, ["a", "b"]);
  writeFileSync(join(base, "a"), "x");
  writeFileSync(join(base, "b"), "yz");
  assert.notEqual(fingerprint(base, ["a", "b"]), first);
});

test("work is left out only for the same inputs with outputs in place", async (t) => {
  const base = folder(t);
  const output = join(base, "out");
  let runs = 0;
  const attempt = (mark) =>
    unlessFresh({ stampFile: join(base, "s", "stamp"), mark, outputs: () => [output] }, () => {
      runs += 1;
      writeFileSync(output, "");
    });
  assert.equal(await attempt("1"), true);
  assert.equal(await attempt("1"), false);
  assert.equal(await attempt("2"), true);
  rmSync(output);
  assert.equal(await attempt("2"), true);
  assert.equal(runs, 3);
});

test("work that failed is done again", async (t) => {
  const base = folder(t);
  const task = { stampFile: join(base, "stamp"), mark: "1", outputs: () => [] };
  await unlessFresh(task, () => {});
  await assert.rejects(unlessFresh({ ...task, mark: "2" }, () => Promise.reject(new Error("broken"))));
  assert.equal(await unlessFresh(task, () => {}), true);
});
