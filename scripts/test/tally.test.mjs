import assert from "node:assert/strict";
import test from "node:test";
import { total } from "../lib/session.mjs";
import { cargoTest, NONE, nextest, nodeTest, vitest } from "../lib/tally.mjs";

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
