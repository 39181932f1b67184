// Starts programs written for the published package, on our addon.

import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startChild } from "./child.mjs";
import { enginePort } from "./engine.mjs";
import { engineOf, onEngine } from "./host.mjs";
import { nodeBinary } from "./nodes.mjs";

/** A port that was free a moment ago: the package wants to know it beforehand. */
export async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/**
 * Runs `program` of `runtime/` with a port and a data folder of its own. `kill`
 * ends it without goodbye, `start` runs it again on the same data. `message` is what
 * it said when it was ready.
 */
export async function runtimeProgram(program, variables = {}) {
  const data = await mkdtemp(join(tmpdir(), "greenroom-runtime-"));
  // The package joins what it finds at its endpoint, and is alone where it finds nobody.
  const port = await (onEngine ? enginePort() : freePort());
  const engine = await engineOf(data, port);
  const path = fileURLToPath(new URL(`../runtime/${program}`, import.meta.url));
  let child;
  const start = async () => {
    child = await startChild(path, [], {
      execPath: nodeBinary(22),
      env: {
        ...process.env,
        RIVETKIT_RUNTIME: "native",
        RIVETKIT_STORAGE_PATH: data,
        RIVET_RUN_ENGINE: "1",
        RIVET_RUN_ENGINE_PORT: String(port),
        RIVET_LOG_LEVEL: "error",
        ...variables,
      },
    });
  };
  await start();
  return {
    url: `http://127.0.0.1:${port}`,
    get message() {
      return child.message;
    },
    start,
    kill: () => child.kill(),
    /** Ends the program the orderly way and resolves with its exit code. */
    async stop() {
      const code = await child.stop();
      await engine?.end();
      await rm(data, { recursive: true, force: true });
      return code;
    },
  };
}
