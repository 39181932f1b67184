// Reads from what the runners print how many tests passed and failed, and which.

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

/** What failed in `cargo nextest run` or `cargo test`, each once. */
export function rustFailures(output) {
  const text = output.replace(COLOURS, "");
  const named = (pattern) => [...new Set([...text.matchAll(pattern)].map(([, name]) => name))];
  const listed = named(/^\s+(?:FAIL|TIMEOUT|SIG\w+) \[.*?\] (?:\(.*?\) +)?(.*)$/gm);
  // Below a test that failed nextest prints what `cargo test` would say of it.
  return listed.length > 0 ? listed : named(/^test (.*) \.\.\. FAILED$/gm);
}

/** What `node --test` lists at its end in the spec form; groups around a failed test are left out. */
export function nodeFailures(output) {
  const [, listed = ""] = output.replace(COLOURS, "").split("✖ failing tests:");
  return [...listed.matchAll(/^(test at .*)\n✖ (.*?)(?: \([\d.]+ms\))?$/gm)].map(([, at, name]) => `${name} (${at})`);
}

/** What failed in vitest's JSON report, with the first line of each reason. */
export function vitestFailures(report) {
  const named = ({ fullName, failureMessages }) =>
    `${fullName}: ${failureMessages?.[0]?.split("\n")[0] ?? "no reason"}`;
  return report.testResults.flatMap((file) => {
    const failed = file.assertionResults.filter(({ status }) => status === "failed");
    if (file.status === "failed" && file.assertionResults.length === 0) return [`${file.name}: ${file.message}`];
    return failed.map(named);
  });
}

export { NONE };
