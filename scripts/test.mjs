// `npm test`: build, lint, all tests. `--compat` adds the suite of the published
// client, `--long` makes crash and endurance tests long, `--lint` leaves the tests out.
// `--engine` runs what needs a Rivet Engine, and nothing else.
// Words without dashes pick checks by a part of their title.

import * as checks from "./lib/checks.mjs";
import * as engine from "./lib/engine-checks.mjs";
import { entry } from "./lib/run.mjs";
import { session } from "./lib/session.mjs";
import { build } from "./lib/steps.mjs";

const words = process.argv.slice(2);
const long = words.includes("--long");

const LINT = [
  { title: "rustfmt", check: checks.rustfmt },
  { title: "clippy", check: checks.clippy },
  { title: "tidy", check: checks.tidy },
  { title: "cargo-deny", check: checks.deny },
  { title: "biome and tsc", check: checks.typescript },
];
const TESTS = [
  { title: "Rust tests", check: checks.rustTests },
  { title: "Node tests", check: checks.nodeTests },
  { title: "script tests", check: checks.scriptTests },
  { title: "crash tests", check: () => checks.crashTests({ long }) },
  { title: "endurance tests", check: () => checks.enduranceTests({ long }) },
];
const COMPAT = [
  { title: "published client tests", check: checks.compatTests },
  { title: "SQL parity tests", check: checks.parityTests },
];
const ENGINE = [
  { title: "engine clippy", check: engine.clippy },
  { title: "engine host", check: engine.rustTests },
  { title: "Node tests on an engine", check: engine.ownTests },
  { title: "programs on an engine", check: engine.nodeTests },
  { title: "published client on an engine", check: engine.compatTests },
  { title: "interchange with the genuine addon", check: engine.interchangeTests },
];

const usual = [...LINT, ...(words.includes("--lint") ? [] : TESTS), ...(words.includes("--compat") ? COMPAT : [])];
const wanted = words.filter((word) => !word.startsWith("-"));
const chosen = (words.includes("--engine") ? ENGINE : usual).filter(
  ({ title }) => wanted.length === 0 || wanted.some((word) => title.includes(word)),
);

await entry(async () => {
  try {
    await build();
  } catch (error) {
    console.error(`\n✗ ${error.message}\n\n0 passed, 1 failed`);
    process.exitCode = 1;
    return;
  }
  if (!(await session(chosen))) process.exitCode = 1;
});
