// Reads how many tests passed and failed from the closing lines of the runners.

// biome-ignore lint/suspicious/noControlCharactersInRegex: colour codes start with ESC
const COLOURS = /\x1b\[[0-9;]*m/g;

const NONE = { passed: 0, failed: 0, skipped: 0 };

export function add(one, other) {
  return {
    passed: one.passed + other.passed,
    failed: one.failed + other.failed,
    skipped: one.skipped + other.skipped,
  };
}

const count = (text, pattern) => Number(pattern.exec(text)?.[1] ?? 0);

/** `cargo nextest run`: one summary line for the whole run. */
export function nextest(output) {
  const line = /tests? run:.*$/m.exec(output.replace(COLOURS, ""))?.[0];
  if (!line) return NONE;
  return {
    passed: count(line, /(\d+) passed/),
    failed: count(line, /(\d+) failed/) + count(line, /(\d+) timed out/),
    skipped: count(line, /(\d+) skipped/),
  };
}

/** `cargo test`: one result line per test binary. */
export function cargoTest(output) {
  const lines = output.replace(COLOURS, "").matchAll(/^test result: .*$/gm);
  return [...lines].reduce(
    (sum, [line]) =>
      add(sum, {
        passed: count(line, /(\d+) passed/),
        failed: count(line, /(\d+) failed/),
        skipped: count(line, /(\d+) ignored/),
      }),
    NONE,
  );
}

/** `node --test`: the totals at the end, in the spec and in the TAP form. */
export function nodeTest(output) {
  const text = output.replace(COLOURS, "");
  const total = (name) => count(text, new RegExp(`^(?:ℹ|#) ${name} (\\d+)$`, "m"));
  return {
    passed: total("pass"),
    failed: total("fail") + total("cancelled"),
    skipped: total("skipped") + total("todo"),
  };
}

/** The JSON report of vitest. A file that could not be loaded is a failure. */
export function vitest(report) {
  const broken = report.testResults.filter((file) => file.status === "failed" && file.assertionResults.length === 0);
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + broken.length,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

export { NONE };
