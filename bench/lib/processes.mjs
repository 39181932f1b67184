// Servers and load in processes of their own, so that neither shares a thread
// with the other.

import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export function temporaryFolder(name) {
  const path = mkdtempSync(join(tmpdir(), `greenroom-bench-${name}-`));
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 20 }) };
}

async function answer(child) {
  const [message] = await Promise.race([
    once(child, "message"),
    once(child, "exit").then(([code]) => {
      throw new Error(`a bench process ended early with exit code ${code}`);
    }),
  ]);
  return message;
}

const script = (name) => fileURLToPath(new URL(name, import.meta.url));

/** Starts `bench/lib/<name>`; it reports `{ url }` and ends when it is told "stop". */
export async function startServer(name, args = []) {
  const child = fork(script(name), args);
  const { url } = await answer(child);
  return {
    url,
    pid: child.pid,
    async stop() {
      const ended = once(child, "exit");
      child.send("stop");
      await ended;
    },
  };
}

/** Runs `bench/lib/<name>` to its end and gives the one message it sends. */
export async function runOnce(name, args = [], execArgv = []) {
  const child = fork(script(name), args.map(String), { execArgv });
  const ended = once(child, "exit");
  const message = await answer(child);
  await ended;
  return message;
}
