// Starts the server of the suite in a process of its own and stops it again.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startChild } from "./child.mjs";
import { engineOf } from "./host.mjs";

const SERVER = fileURLToPath(new URL("../server.mjs", import.meta.url));

/**
 * A running server on a free port, or on `port`, with a data directory of its own
 * unless it is given one. It runs under the Node.js named by
 * `GREENROOM_SERVER_NODE`, not under the one that the published client asks for.
 */
export async function startServer({ dataDir: given, port = 0 } = {}) {
  const dataDir = given ?? (await mkdtemp(join(tmpdir(), "greenroom-compat-")));
  const engine = await engineOf(dataDir);
  const child = await startChild(SERVER, [dataDir, String(port)], {
    execPath: process.env.GREENROOM_SERVER_NODE ?? process.execPath,
    env: { ...process.env, ...(engine && { GREENROOM_HOST: "engine", RIVET_ENDPOINT: engine.endpoint }) },
  });
  return {
    url: child.message.url,
    kill: child.kill,
    /** Ends the server the orderly way and resolves with its exit code. */
    async stop() {
      const code = await child.stop();
      if (given === undefined) {
        await engine?.end();
        await rm(dataDir, { recursive: true, force: true });
      }
      return code;
    },
  };
}
