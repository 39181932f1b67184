// Starts the server of the suite in a process of its own and stops it again.

import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const SERVER = fileURLToPath(new URL("../server.mjs", import.meta.url));

/**
 * A running server on a free port with a data directory of its own. It runs
 * under the Node.js named by `GREENROOM_SERVER_NODE`, not under the one that
 * the published client asks for.
 */
export async function startServer() {
  const dataDir = await mkdtemp(join(tmpdir(), "greenroom-compat-"));
  const child = fork(SERVER, [dataDir], {
    execPath: process.env.GREENROOM_SERVER_NODE ?? process.execPath,
    execArgv: [],
  });
  const ended = once(child, "exit");
  const [message] = await Promise.race([
    once(child, "message"),
    ended.then(([code]) => {
      throw new Error(`the server ended with exit code ${code} before it listened`);
    }),
  ]);
  return {
    url: message.url,
    /** Ends the server the orderly way and resolves with its exit code. */
    async stop() {
      if (child.connected) child.send("stop");
      const [code] = await ended;
      await rm(dataDir, { recursive: true, force: true });
      return code;
    },
  };
}
