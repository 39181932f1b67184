// One program on two addons, in one pool of an engine: the published package with its
// own one, from `bench/genuine`, and the same package with ours, from `compat`.

import { copyFileSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { startChild } from "../lib/child.mjs";
import { nodeBinary } from "../lib/nodes.mjs";

const FOLDERS = {
  genuine: new URL("../../bench/genuine/node_modules", import.meta.url),
  ours: new URL("../node_modules", import.meta.url),
};

/** Runs `program` (a URL) on the packages of `side`, in a pool of the engine at `endpoint`. */
export async function startSide(t, side, program, endpoint) {
  const home = mkdtempSync(join(tmpdir(), `greenroom-${side}-`));
  t.after(() => rmSync(home, { recursive: true, force: true, maxRetries: 20 }));
  symlinkSync(fileURLToPath(FOLDERS[side]), join(home, "node_modules"));
  const path = join(home, basename(fileURLToPath(program)));
  copyFileSync(program, path);
  const child = await startChild(path, [], {
    cwd: home,
    execPath: nodeBinary(22),
    env: {
      ...process.env,
      INTERCHANGE_SIDE: side,
      RIVETKIT_RUNTIME: "native",
      RIVETKIT_STORAGE_PATH: home,
      RIVETKIT_ENGINE_SPAWN: "never",
      RIVET_ENDPOINT: endpoint,
      RIVET_LOG_LEVEL: process.env.RIVET_LOG_LEVEL ?? "error",
    },
  });
  t.after(() => child.kill());
  return child;
}
