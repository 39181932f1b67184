// One side of the comparison: the program with the packages of one folder, and the
// published client that talks to it.

import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "rivetkit/client";
import { startElsewhere } from "../../compat/lib/elsewhere.mjs";

const PROGRAM = new URL("program.mjs", import.meta.url);

/** Starts the program on the packages of `folder` and waits until it answered once. */
export async function startSide(folder) {
  const since = performance.now();
  const program = await startElsewhere(folder, PROGRAM);
  const client = createClient({ endpoint: program.endpoint });
  const stop = async () => {
    await client.dispose();
    await program.stop();
  };
  try {
    await client.counter.getOrCreate(["first"]).increment();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    endpoint: program.endpoint,
    client,
    /** Milliseconds from the start of the process to the first answer. */
    coldStart: performance.now() - since,
    memory: program.memory,
    stop,
  };
}

/** Bytes of the files below `path`; a symbolic link counts nothing. */
export function bytesBelow(path) {
  const entry = lstatSync(path);
  if (!entry.isDirectory()) return entry.isFile() ? entry.size : 0;
  return readdirSync(path).reduce((sum, name) => sum + bytesBelow(join(path, name)), 0);
}
