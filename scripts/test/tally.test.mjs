import assert from "node:assert/strict";
import test from "node:test";
import { total } from "../lib/session.mjs";
import {
  cargoTest,
  NONE,
  nextest,
  nodeFailures,
  nodeTest,
  rustFailures,
  vitest,
  vitestFailures,
} from "../lib/tally.mjs";

test("a nextest summary is read with and without colours, slow tests and failures", () => {
  const plain = "     Summary [   1.432s] 14 tests run: 12 passed (1 slow), 1 failed, 1 timed out, 3 skipped";
  assert.deepEqual(nextest(plain), { passed: 12, failed: 2, skipped: 3 });
  const coloured =
    "\x1b[32m Summary\x1b[0m [ 0.1s] \x1b[1m1\x1b[0m test run: \x1b[1m1\x1b[0m \x1b[32mpassed\x1b[0m, 0 skipped";
  assert.deepEqual(nextest(coloured), { passed: 1, failed: 0, skipped: 0 });
  assert.equal(nextest("error: could not compile"), NONE);
});

test("the result lines of all cargo test binaries are added up", () => {
  const output = [
    "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
    "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out",
  ].join("\n");
  assert.deepEqual(cargoTest(output), { passed: 5, failed: 1, skipped: 1 });
});

test("node's totals are read in both forms and a cancelled test has failed", () => {
  const tap = "# tests 5\n# suites 0\n# pass 3\n# fail 1\n# cancelled 1\n# skipped 0\n# todo 0";
  assert.deepEqual(nodeTest(tap), { passed: 3, failed: 2, skipped: 0 });
  assert.deepEqual(nodeTest(tap.replaceAll("#", "ℹ")), { passed: 3, failed: 2, skipped: 0 });
});

test("a vitest file that cannot be loaded is a failure of its own", () => {
  const report = {
    numPassedTests: 4,
    numFailedTests: 0,
    numPendingTests: 1,
    numTodoTests: 0,
    testResults: [
      { status: "passed", assertionResults: [{}, {}] },
      { status: "failed", assertionResults: [] },
    ],
  };
  assert.deepEqual(vitest(report), { passed: 4, failed: 1, skipped: 1 });
});

test("a check that fails without a failed test still counts", () => {
  const results = [
    { ok: true, passed: 2, failed: 0, skipped: 0 },
    { ok: false, passed: 0, failed: 0, skipped: 0 },
    { ok: false, passed: 1, failed: 2, skipped: 0 },
  ];
  assert.deepEqual(total(results), { passed: 3, failed: 3, skipped: 0 });
});

test("failed Rust tests are named once, whichever runner told of them", () => {
  const told = [
    "        FAIL [   0.199s] ( 62/812) greenroom-store tests::paged::many",
    "test tests::paged::many ... FAILED",
    "\x1b[31;1m     TIMEOUT\x1b[0m [  60.1s] greenroom-core queue::one",
    "        FAIL [   0.199s] ( 62/812) greenroom-store tests::paged::many",
  ].join("\n");
  assert.deepEqual(rustFailures(told), ["greenroom-store tests::paged::many", "greenroom-core queue::one"]);
  assert.deepEqual(rustFailures("test one ... ok\ntest two ... FAILED"), ["two"]);
});

test("failed tests of node are named with their place, not with the groups around them", () => {
  const told = [
    "✖ a group (3.4ms)",
    "✖ failing tests:",
    "",
    "test at some.test.mjs:2:28",
    "✖ takes 3 ms (1.221648ms)",
    "  Error: x",
  ].join("\n");
  assert.deepEqual(nodeFailures(told), ["takes 3 ms (test at some.test.mjs:2:28)"]);
  assert.deepEqual(nodeFailures("ℹ pass 3"), []);
});

test("failed tests of vitest are named with the first line of their reason", () => {
  const report = {
    testResults: [
      { name: "a.test.ts", status: "failed", message: "no such module", assertionResults: [] },
      {
        status: "failed",
        assertionResults: [
          { status: "passed", fullName: "one" },
          { status: "failed", fullName: "two", failureMessages: ["expected 1\n  at line 2"] },
        ],
      },
    ],
  };
  assert.deepEqual(vitestFailures(report), ["a.test.ts: no such module", "two: expected 1"]);
});
