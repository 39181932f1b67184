// Builds the bare counterparts in bench/native and loads them.

import { copyFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { must, root } from "../../scripts/lib/run.mjs";

const LIBRARY = {
  darwin: "libgreenroom_bench_native.dylib",
  linux: "libgreenroom_bench_native.so",
  win32: "greenroom_bench_native.dll",
};

let loaded;

/** `{ ThreadsafeCall, createDatabases, openAndRead, commitRows }` */
export function loadNative() {
  // Once: a library that is mapped must not be written over.
  loaded ??= build();
  return loaded;
}

async function build() {
  const target = join(root, "target", "bench");
  const manifest = join(root, "bench", "native", "Cargo.toml");
  const args = ["build", "--release", "--locked", "--manifest-path", manifest, "--target-dir", target];
  await must("cargo", args);
  const addon = join(target, "baseline.node");
  copyFileSync(join(target, "release", LIBRARY[process.platform] ?? LIBRARY.linux), addon);
  return createRequire(import.meta.url)(addon);
}
