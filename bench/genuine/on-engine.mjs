// What the benches on an engine share: a program of this folder on the packages of either
// addon, and an end for whatever a run has begun.

import { fork } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../../__test__/engine/pool.mjs";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));

/** The folders whose packages have this addon, and the package's own one. */
export const SIDES = { genuine: ".", ours: "../../compat" };

/**
 * Runs `work` with what the helpers of the tests clean up at the end of a test: here it is
 * cleaned up when `work` has ended, the last first.
 */
export async function scoped(work) {
  const cleanup = [];
  try {
    await work({ after: (clean) => cleanup.push(clean) });
  } finally {
    for (const clean of cleanup.reverse()) await clean();
  }
}

/** Runs `program` on the packages of a folder; resolves to its process once that is ready. */
export async function startProgram(scope, program, folder, endpoint, { env = {}, flags = [] } = {}) {
  const home = temporaryFolder(scope);
  symlinkSync(at(`${folder}/node_modules`), join(home, "node_modules"));
  copyFileSync(at(program), join(home, program));
  const child = fork(join(home, program), [], {
    cwd: home,
    execArgv: flags,
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    env: {
      ...process.env,
      RIVETKIT_RUNTIME: "native",
      RIVETKIT_ENGINE_SPAWN: "never",
      RIVET_ENDPOINT: endpoint,
      RIVET_LOG_LEVEL: "silent",
      ...env,
    },
  });
  const ended = once(child, "exit");
  scope.after(async () => {
    if (child.connected) child.send("stop");
    await ended;
  });
  const [message] = await Promise.race([once(child, "message"), ended.then(() => [])]);
  if (message === undefined) throw new Error(`the program on ${folder} ended before it was ready`);
  return child;
}
