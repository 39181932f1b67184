// Everything a change has to pass, each check as a function that resolves with
// the tests it counted, the names of those that failed, and whether the tool was content.

import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { npmScript, root, run } from "./run.mjs";
import { installPackages } from "./steps.mjs";
import {
  add,
  cargoTest,
  NONE,
  nextest,
  nodeFailures,
  nodeTest,
  rustFailures,
  vitest,
  vitestFailures,
} from "./tally.mjs";

const TEE = { output: "tee", env: process.stdout.isTTY ? { CARGO_TERM_COLOR: "always" } : {} };

/** A tool that has no tests to count: content or not. */
export async function tool(command, args) {
  const { code } = await run(command, args);
  return { ok: code === 0, ...NONE };
}

async function has(...command) {
  const { code } = await run(command[0], command.slice(1), { output: "keep" });
  return code === 0;
}

export const rustfmt = () => tool("cargo", ["fmt", "--all", "--check"]);

/** `npm run test:engine` looks at the engine's host, on an engine. */
const ENGINE = ["--exclude", "greenroom-host-engine"];
export const clippy = () =>
  tool("cargo", ["clippy", "--workspace", ...ENGINE, "--all-targets", "--", "-D", "warnings"]);

/** Rules of the house that no other tool checks. */
export const tidy = () => tool(process.execPath, ["scripts/tidy.mjs"]);

/** Licences and bans of the dependencies; only where cargo-deny is installed. */
export async function deny() {
  if (!(await has("cargo", "deny", "--version"))) {
    return { ok: true, note: "left out, cargo-deny is not installed", ...NONE };
  }
  return tool("cargo", ["deny", "--offline", "check", "bans", "licenses", "sources"]);
}

/** biome and tsc. */
export async function typescript() {
  const ok = await npmScript("lint:ts").then(
    () => true,
    () => false,
  );
  return { ok, ...NONE };
}

export async function rustTests() {
  const all = (await has("cargo", "nextest", "--version"))
    ? await run("cargo", ["nextest", "run", "--no-fail-fast", "--no-tests=pass"], TEE)
    : await run("cargo", ["test", "--no-fail-fast", "--lib", "--bins", "--tests", "--examples"], TEE);
  const docs = await run("cargo", ["test", "--doc", "--no-fail-fast"], TEE);
  const unit = nextest(all.output);
  return {
    ok: all.code === 0 && docs.code === 0,
    ...add(unit === NONE ? cargoTest(all.output) : unit, cargoTest(docs.output)),
    failures: [all, docs].flatMap(({ output }) => rustFailures(output)),
  };
}

export async function nodeTests(options = {}) {
  const report = join(root, "target", "vitest.json");
  rmSync(report, { force: true });
  const runner = join(root, "node_modules", "vitest", "vitest.mjs");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const { code } = await run(process.execPath, [runner, "run", ...reporters], options);
  if (!existsSync(report)) return { ok: code === 0, ...NONE };
  const told = JSON.parse(readFileSync(report, "utf8"));
  return { ok: code === 0, ...vitest(told), failures: vitestFailures(told) };
}

/** Test files for `node --test` below `folder`, named one by one: Node 20 expands no patterns. */
function testFiles(folder) {
  return readdirSync(join(root, folder))
    .filter((name) => name.endsWith(".test.mjs"))
    .sort()
    .map((name) => join(folder, name));
}

/** Runs the test files of `folder`, but for those of the names in `leaveOut`. */
export async function nodeRunner(node, folder, env = {}, { flags = [], leaveOut = [] } = {}) {
  const files = testFiles(folder).filter((path) => !leaveOut.includes(basename(path, ".test.mjs")));
  const { code, output } = await run(node, ["--test", "--test-reporter=spec", ...flags, ...files], {
    output: "tee",
    env: { ...env, ...(process.stdout.isTTY ? { FORCE_COLOR: "1" } : {}) },
  });
  return { ok: code === 0, ...nodeTest(output), failures: nodeFailures(output) };
}

/** The scripts' own tests. */
export const scriptTests = () => nodeRunner(process.execPath, "scripts/test");
/** What takes whole processes and time; `long` is the form for releases. */
const LONG = { GREENROOM_LONG: "1", GREENROOM_CRASH_ROUNDS: "50" };
export const crashTests = ({ long }) => nodeRunner(process.execPath, "__test__/crash", long ? LONG : {});
export const enduranceTests = ({ long }) => nodeRunner(process.execPath, "__test__/endurance", long ? LONG : {});

/** A browser for the suite's pages, where this may install one; without one they are left out. */
async function installBrowser() {
  if (!process.env.CI || process.getuid?.() !== 0) return;
  if ((await has("chromium", "--version")) || !(await has("apt-get", "--version"))) return;
  await run("apt-get", ["update", "-qq"]);
  await run("apt-get", ["install", "-y", "-qq", "--no-install-recommends", "chromium"], { output: "keep" });
}

/**
 * The same SQL through an actor and through better-sqlite3; only where that can be
 * installed, which takes its prebuilt binary, or Python besides a compiler.
 */
export async function parityTests() {
  try {
    await installPackages("bench/parity");
  } catch {
    return { ok: true, note: "left out, better-sqlite3 cannot be installed", ...NONE };
  }
  return nodeRunner(process.execPath, "bench/parity", {});
}

/** The published client, unmodified, under the Node.js it asks for, against a server under this one. */
export async function compatTests() {
  await installPackages("compat");
  await installBrowser();
  const { nodeBinary } = await import("../../compat/lib/nodes.mjs");
  return nodeRunner(nodeBinary(22), "compat", { GREENROOM_SERVER_NODE: process.execPath });
}
