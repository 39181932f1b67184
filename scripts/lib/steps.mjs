// The build, in three steps that are each left out when nothing changed:
// npm packages, native addon, TypeScript layer.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { Failure, must, npm, npmScript, root } from "./run.mjs";
import { fingerprint, unlessFresh } from "./stamp.mjs";
import { step } from "./step.mjs";
import { requireToolchain } from "./toolchain.mjs";

const RUST_INPUTS = [
  "Cargo.toml",
  "Cargo.lock",
  "build.rs",
  "rust-toolchain.toml",
  ".cargo/config.toml",
  "src",
  "crates",
];
const TS_INPUTS = [
  "ts",
  "tsconfig.json",
  "package.json",
  "native.d.ts",
  "scripts/bundle.mjs",
  "scripts/lib/browser-bundle.mjs",
];

const at = (...parts) => join(root, ...parts);
const stamp = (name) => at("target", "stamps", name);

/** The addon file of this platform, or none before the first build. */
export function addonFiles() {
  return readdirSync(root).filter((name) => /^greenroom\..+\.node$/.test(name));
}

/**
 * Installs the packages of `folder` exactly as its lock file says. `partial` is for
 * a lock file that names optional packages of some platforms only, because the
 * registry it was made with has no others: what it names is installed as it says,
 * and the rest in the exact versions that its dependents ask for.
 */
export async function installPackages(folder = ".", { partial = false } = {}) {
  const inputs = [join(folder, "package.json"), join(folder, "package-lock.json")];
  const mark = fingerprint(root, inputs, [process.platform, process.arch, process.versions.modules]);
  const task = {
    stampFile: at(folder, "node_modules", ".greenroom-stamp"),
    mark,
    outputs: () => [at(folder, "node_modules", ".package-lock.json")],
  };
  const command = partial ? ["install", "--no-save"] : ["ci"];
  await unlessFresh(task, () =>
    step(`Install npm packages${folder === "." ? "" : ` of ${folder}/`}`, () =>
      npm([...command, "--include=dev", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: at(folder) }),
    ),
  );
}

async function buildAddon(debug) {
  const { output: rustc } = await must("rustc", ["--version"], { output: "keep" });
  const script = debug ? "build:native:debug" : "build:native";
  const task = {
    stampFile: stamp("addon"),
    mark: fingerprint(root, RUST_INPUTS, [rustc, script]),
    outputs: () => [...(addonFiles().length ? [] : [at("greenroom.node")]), at("native.d.ts")],
  };
  await unlessFresh(task, () => step("Build the native addon", () => npmScript(script)));
  if (addonFiles().length === 0) {
    throw new Failure("the addon was built, but no greenroom.<platform>.node appeared");
  }
}

async function buildTypeScript() {
  const task = {
    stampFile: stamp("ts"),
    mark: fingerprint(root, TS_INPUTS),
    outputs: () => [at("lib", "index.js"), at("lib", "index.d.ts"), at("lib", "client", "browser.mjs")],
  };
  await unlessFresh(task, () => step("Compile the TypeScript layer", () => npmScript("build:ts")));
}

/** Brings addon and TypeScript layer up to date with the sources. */
export async function build({ debug = false } = {}) {
  await requireToolchain();
  await installPackages();
  await buildAddon(debug);
  await buildTypeScript();
}
