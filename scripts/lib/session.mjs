// Runs checks one after the other, goes on after a failure, and closes with the
// failed tests, a table and the line that machines read: `N passed, N failed`.

import { Failure } from "./run.mjs";
import { seconds, step } from "./step.mjs";
import { add, NONE } from "./tally.mjs";

async function runCheck({ title, check }) {
  const since = performance.now();
  try {
    return { title, ...(await step(title, check)), took: seconds(since) };
  } catch (error) {
    console.error(error instanceof Failure ? `✗ ${error.message}` : error);
    return { title, ok: false, ...NONE, took: seconds(since) };
  }
}

/**
 * A check that failed without a failed test (a lint, a runner that broke)
 * counts as one failure, so that the closing line never looks green.
 */
export function total(results) {
  return results
    .map(({ ok, passed, failed, skipped }) => ({
      passed,
      failed: !ok && failed === 0 ? 1 : failed,
      skipped,
    }))
    .reduce(add, NONE);
}

function row({ title, ok, passed, failed, skipped, note, took }) {
  const counted = passed + failed > 0 ? `${passed} passed, ${failed} failed` : "";
  const details = [counted, skipped ? `${skipped} skipped` : "", note ?? "", took];
  return `${ok ? "✓" : "✗"} ${title.padEnd(32)} ${details.filter(Boolean).join(" · ")}`;
}

/** Resolves with true if every check was content. */
export async function session(checks) {
  const results = [];
  for (const check of checks) results.push(await runCheck(check));
  const { passed, failed } = total(results);
  const failures = results.flatMap(({ title, failures = [] }) => failures.map((name) => `✗ ${title}: ${name}`));
  if (failures.length > 0) console.log(`\n${failures.join("\n")}`);
  console.log(`\n${results.map(row).join("\n")}\n\n${passed} passed, ${failed} failed`);
  return failed === 0;
}
