import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { isOlder, missing, versionIn } from "../lib/toolchain.mjs";

/** Makes `programs` (name → what `--version` prints) the only ones on the path. */
function onlyPrograms(t, programs) {
  const folder = mkdtempSync(join(tmpdir(), "greenroom-path-"));
  const { PATH, CC } = process.env;
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\necho '${text}'\n`);
    chmodSync(join(folder, name), 0o755);
  }
  process.env.PATH = folder;
  delete process.env.CC;
  t.after(() => {
    process.env.PATH = PATH;
    if (CC !== undefined) process.env.CC = CC;
    rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
  });
}

const unix = { skip: process.platform === "win32" && "the programs are shell scripts" };
const CARGO = "cargo 1.95.0 (f2d3ce0bd 2026-03-21)";

test("versions are compared as numbers", () => {
  assert.deepEqual(versionIn("cargo 1.100.3 (abc)"), [1, 100]);
  assert.equal(versionIn("none"), undefined);
  assert.equal(isOlder([1, 100], [1, 88]), false);
  assert.equal(isOlder([1, 87], [1, 88]), true);
  assert.equal(isOlder([2, 0], [1, 88]), false);
});

test("a machine with both compilers lacks nothing", unix, async (t) => {
  onlyPrograms(t, { cargo: CARGO, cc: "cc 14" });
  assert.equal(await missing(), undefined);
});

test("without cargo one sentence names Rust and how to get it", unix, async (t) => {
  onlyPrograms(t, { cc: "cc 14" });
  const sentence = await missing();
  assert.match(sentence, /Rust \d+\.\d+ or newer .* rustup/);
  assert.equal(sentence.split("\n").length, 1);
});

test("an old cargo is told from a missing one", unix, async (t) => {
  onlyPrograms(t, { cargo: "cargo 1.70.0", cc: "cc 14" });
  assert.match(await missing(), /this is cargo 1\.70\.0: run `rustup update`/);
});

test("without a C compiler one sentence says what to install", unix, async (t) => {
  onlyPrograms(t, { cargo: CARGO });
  assert.match(await missing(), /C compiler is needed .* (install|run) /);
});

test("any of the usual C compilers will do", unix, async (t) => {
  onlyPrograms(t, { cargo: CARGO, clang: "clang 19" });
  assert.equal(await missing(), undefined);
});

test("a Node.js that the build tools cannot run on is refused", async () => {
  assert.match(await missing({ node: "18.20.1" }), /Node\.js 20\.17 or newer .* this is 18\.20\.1/);
});
