// One life of a server: start it, load it, kill it at any instant, look at what
// is on disk, and keep the books that the checks are made from.

import { fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient } from "greenroom";

const SERVER = fileURLToPath(new URL("server.mjs", import.meta.url));
const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export function temporaryFolder(t) {
  const path = mkdtempSync(join(tmpdir(), "greenroom-crash-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** On a free port, or on the one that an earlier server had. */
export async function startServer(dataDir, port = 0) {
  const child = fork(SERVER, [dataDir, String(port)]);
  const ended = once(child, "exit");
  const [{ url }] = await Promise.race([
    once(child, "message"),
    ended.then(([code]) => {
      throw new Error(`the server ended with exit code ${code} before it listened`);
    }),
  ]);
  return {
    client: createClient(url),
    url,
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** What the caller of one counter knows: calls it sent, the highest answer it got. */
export class Ledger {
  sent = 0;
  answered = 0;
  highest = 0;

  /** Sends increments one after the other until `stopped()` or `limit` calls. */
  async work(handle, limit, stopped, onAnswer) {
    for (let call = 0; call < limit && !stopped(); call++) {
      this.sent += 1;
      let count;
      try {
        count = await handle.increment(1);
      } catch (error) {
        if (stopped()) return;
        throw error;
      }
      this.answered += 1;
      this.highest = Math.max(this.highest, count);
      onAnswer();
    }
  }
}

/**
 * Asks SQLite about every database file, on a copy: opening one repairs its
 * log, and that is for the next server to do.
 */
export function checkIntegrity(dataDir) {
  const copy = mkdtempSync(join(tmpdir(), "greenroom-copy-"));
  try {
    cpSync(dataDir, copy, { recursive: true });
    const args = ["run", "--quiet", "--example", "integrity", "--", copy];
    const { status, stdout, stderr } = spawnSync("cargo", args, { cwd: ROOT, encoding: "utf8" });
    if (status !== 0) throw new Error(`integrity check failed:\n${stdout}${stderr}`);
    return stdout.trim().split("\n").filter(Boolean).length;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}
