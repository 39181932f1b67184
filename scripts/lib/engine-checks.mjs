// What needs a Rivet Engine, which comes from npm for five platforms. Where there is
// none, these checks are left out and say so.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { engineBinary } from "../../compat/lib/engine.mjs";
import { nodeBinary } from "../../compat/lib/nodes.mjs";
import { nodeRunner, nodeTests as ownNodeTests, tool } from "./checks.mjs";
import { root, run } from "./run.mjs";
import { installPackages } from "./steps.mjs";
import { cargoTest, NONE, rustFailures } from "./tally.mjs";

const CRATE = ["-p", "greenroom-host-engine", "--all-features"];

const leftOut = (note) => ({ ok: true, note: `left out, ${note}`, ...NONE });

/** Runs `check` where an engine can be installed. */
async function onEngine(check) {
  await installPackages("compat/engine", { partial: true });
  return engineBinary() === undefined ? leftOut("there is no engine for this platform") : check();
}

export const clippy = () => tool("cargo", ["clippy", ...CRATE, "--all-targets", "--", "-D", "warnings"]);

/** The crate's own tests, and the promises of both hosts. */
export const rustTests = () =>
  onEngine(async () => {
    // Each has an engine of its own, which is enough for a machine.
    const args = ["test", ...CRATE, "--", "--test-threads=1"];
    const { code, output } = await run("cargo", args, { output: "tee" });
    return { ok: code === 0, ...cargoTest(output), failures: rustFailures(output) };
  });

// An engine and several programs at once are enough for a machine.
const ONE_BY_ONE = { flags: ["--test-concurrency=1"] };

/** Our own tests of what actors do, on an engine. They take some minutes there. */
const OWN = { env: { GREENROOM_TEST_HOST: "engine" }, most: 600_000 };
export const ownTests = () => onEngine(() => ownNodeTests(OWN));

export const nodeTests = () => onEngine(() => nodeRunner(process.execPath, "__test__/engine", {}, ONE_BY_ONE));

/** Files of the suite that an engine has nothing to do with, each with what they look at instead. */
const NOT_ON_AN_ENGINE = {
  chat: "the example's own server, which hosts its actors",
  "inspector-protocol": "bytes",
  pack: "what is published",
  runtimes: "that the addon loads, and that a program that hosts actors ends by itself",
  "runtime-testkit": "actors in the process of a test, where nobody listens",
};

/** The suite of the published client and package. */
export const compatTests = () =>
  onEngine(async () => {
    await installPackages("compat");
    const env = { GREENROOM_COMPAT_HOST: "engine", GREENROOM_SERVER_NODE: process.execPath };
    return nodeRunner(nodeBinary(22), "compat", env, { ...ONE_BY_ONE, leaveOut: Object.keys(NOT_ON_AN_ENGINE) });
  });

/** The published package on its own addon and on ours, in turn, with the same actors. */
export const interchangeTests = () =>
  onEngine(async () => {
    await installPackages("compat");
    await installPackages("bench/genuine", { partial: true });
    const addons = readdirSync(join(root, "bench/genuine/node_modules/@rivetkit"));
    if (!addons.some((name) => name.startsWith("rivetkit-napi-"))) {
      return leftOut("the genuine addon is not made for this platform");
    }
    return nodeRunner(nodeBinary(22), "compat/engine", {}, ONE_BY_ONE);
  });
