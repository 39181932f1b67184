import assert from "node:assert/strict";
import test from "node:test";
import { findings } from "../tidy.mjs";

test("a file of 500 lines passes and one line more does not", () => {
  assert.deepEqual(findings("ts/a.ts", "x\n".repeat(500)), []);
  assert.match(findings("ts/a.ts", "x\n".repeat(501))[0], /^ts\/a\.ts has 501 lines/);
});

test("a Rust module without a head is found, a test module is not", () => {
  assert.equal(findings("crates/core/src/queue.rs", "use std::fmt;\n").length, 1);
  assert.deepEqual(findings("crates/core/src/queue.rs", "//! Queues.\n"), []);
  assert.deepEqual(findings("crates/core/src/queue/tests.rs", "use super::*;\n"), []);
  assert.deepEqual(findings("crates/core/tests/queue.rs", "use super::*;\n"), []);
});

test("tests that are switched off are found in both languages", () => {
  assert.equal(findings("crates/core/tests/a.rs", `#[${"ignore"}]\nfn a() {}\n`).length, 1);
  assert.equal(findings("__test__/a.test.ts", `test.${"only"}("a", f)\n`).length, 1);
  assert.deepEqual(findings("__test__/a.test.ts", 'test("only this", f)\n'), []);
});

test("a crate may use the layers below it and none above or beside", () => {
  const manifest = (name) => `[dependencies]\n${name}.workspace = true\n`;
  assert.deepEqual(findings("crates/core/Cargo.toml", manifest("greenroom-store")), []);
  assert.equal(findings("crates/store/Cargo.toml", manifest("greenroom-core")).length, 1);
  assert.deepEqual(findings("crates/store/Cargo.toml", "[dev-dependencies]\ngreenroom-core.workspace = true\n"), []);
});

test("rusqlite stays in the store", () => {
  const manifest = "[dependencies]\nrusqlite.workspace = true\n";
  assert.deepEqual(findings("crates/store/Cargo.toml", manifest), []);
  assert.equal(findings("crates/host-embedded/Cargo.toml", manifest).length, 1);
});
