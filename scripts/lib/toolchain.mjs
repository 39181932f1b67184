// Is this machine able to build the addon? Answers with one sentence if not.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Failure, root, run } from "./run.mjs";

/** The oldest Node.js that the build tools run on. */
export const OLDEST_NODE = [20, 17];

/** The first `a.b` of a text as numbers, or undefined. */
export function versionIn(text) {
  const found = /(\d+)\.(\d+)/.exec(text);
  return found ? [Number(found[1]), Number(found[2])] : undefined;
}

export function isOlder([major, minor], [otherMajor, otherMinor]) {
  return major < otherMajor || (major === otherMajor && minor < otherMinor);
}

/** The oldest Rust the workspace accepts, from its manifest. */
function oldestRust() {
  const manifest = readFileSync(join(root, "Cargo.toml"), "utf8");
  return versionIn(/^rust-version\s*=\s*"([^"]+)"/m.exec(manifest)?.[1] ?? "1.0");
}

const RUST_ADVICE = "install it with rustup (https://rustup.rs), then run this again";

const C_ADVICE = {
  darwin: "run `xcode-select --install`",
  linux:
    "install your system's compiler package (Debian and Ubuntu: `apt-get install build-essential`, Fedora: `dnf install gcc`, Alpine: `apk add build-base`)",
};

async function answer(command) {
  const { code, output } = await run(command, ["--version"], { output: "keep" });
  return code === 0 ? output : undefined;
}

async function hasCompiler() {
  // Rust for Windows brings the requirement of the Visual C++ tools with it.
  if (process.platform === "win32") return true;
  const candidates = process.env.CC ? [process.env.CC] : ["cc", "gcc", "clang"];
  for (const candidate of candidates) {
    if (await answer(candidate)) return true;
  }
  return false;
}

/** What is missing here, as one sentence, or undefined when nothing is. */
export async function missing({ node = process.versions.node, needed = oldestRust() } = {}) {
  if (isOlder(versionIn(node), OLDEST_NODE)) {
    return `Node.js ${OLDEST_NODE.join(".")} or newer is needed to build greenroom, and this is ${node}: install a current Node.js (https://nodejs.org).`;
  }
  const cargo = await answer("cargo");
  if (!cargo) {
    return `Rust ${needed.join(".")} or newer is needed to build greenroom, and no \`cargo\` was found: ${RUST_ADVICE}.`;
  }
  if (isOlder(versionIn(cargo), needed)) {
    return `Rust ${needed.join(".")} or newer is needed to build greenroom, and this is ${cargo.trim()}: run \`rustup update\`, then run this again.`;
  }
  if (!(await hasCompiler())) {
    return `A C compiler is needed to build greenroom's SQLite, and none was found: ${C_ADVICE[process.platform] ?? C_ADVICE.linux}, then run this again.`;
  }
  return undefined;
}

export async function requireToolchain() {
  const sentence = await missing();
  if (sentence) throw new Failure(sentence);
}
