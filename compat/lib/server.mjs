// Starts the server of the suite in a process of its own and stops it again.

import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const SERVER = fileURLToPath(new URL("../server.mjs", import.meta.url));

/**
 * A running server on a free port, or on `port`, with a data directory of its own
 * unless it is given one. It runs under the Node.js named by
 * `GREENROOM_SERVER_NODE`, not under the one that the published client asks for.
 */
export async function startServer({ dataDir: given, port = 0 } = {}) {
  const dataDir = given ?? (await mkdtemp(join(tmpdir(), "greenroom-compat-")));
  const child = fork(SERVER, [dataDir, String(port)], {
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
      if (given === undefined) await rm(dataDir, { recursive: true, force: true });
      return code;
    },
    /** Ends the server as a power failure would. */
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
