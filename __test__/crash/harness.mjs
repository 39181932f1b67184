// One life of a server: start it, load it, kill it at any instant, look at what
// is on disk, and keep the books that the checks are made from.

import { fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient } from "greenroom";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export function temporaryFolder(t) {
  const path = mkdtempSync(join(tmpdir(), "greenroom-crash-"));
  t.after(() => rmSync(path, { recursive: true, force: true, maxRetries: 20 }));
  return path;
}

/**
 * Starts a server, on a free port or on the one that an earlier server had.
 * Resolves when it listens; the promise can also kill it on its way there.
 */
export function startServer(dataDir, port = 0, program = "server.mjs") {
  const child = fork(fileURLToPath(new URL(program, import.meta.url)), [dataDir, String(port)]);
  const ended = once(child, "exit");
  const kill = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  const violations = [];
  const listening = new Promise((resolve, reject) => {
    child.on("message", ({ url, violation }) => {
      if (violation !== undefined) violations.push(violation);
      if (url !== undefined) resolve({ url, client: createClient(url), kill, violations, marked: marks(child) });
    });
    ended.then(([code]) => reject(new Error(`the server ended with exit code ${code} before it listened`)), reject);
  });
  const killEarly = async () => {
    listening.catch(() => {});
    await kill();
  };
  return Object.assign(listening, { killEarly });
}

/** A function that resolves when the server has set this mark `skip` times and once more. */
const marks = (child) => (wanted, skip) =>
  new Promise((resolve) => {
    let left = skip;
    child.on("message", ({ mark }) => {
      if (mark === wanted && left-- === 0) resolve();
    });
  });

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

/** The program that asks SQLite; built once, because a round takes no longer than a build that does nothing. */
let integrity;

function integrityProgram() {
  if (integrity === undefined) {
    const args = [
      "build",
      "--quiet",
      "--package",
      "greenroom-store",
      "--example",
      "integrity",
      "--message-format=json",
    ];
    const { status, stdout, stderr } = spawnSync("cargo", args, { cwd: ROOT, encoding: "utf8", maxBuffer: 2 ** 26 });
    if (status !== 0) throw new Error(`the integrity check could not be built:\n${stderr}`);
    const messages = stdout.split("\n").filter(Boolean).map(JSON.parse);
    integrity = messages.find(({ target }) => target?.name === "integrity").executable;
  }
  return integrity;
}

/**
 * Asks SQLite about every database file, on a copy: opening one repairs its
 * log, and that is for the next server to do.
 */
export function checkIntegrity(dataDir) {
  const copy = mkdtempSync(join(tmpdir(), "greenroom-copy-"));
  try {
    cpSync(dataDir, copy, { recursive: true });
    const { status, stdout, stderr } = spawnSync(integrityProgram(), [copy], { encoding: "utf8" });
    if (status !== 0) throw new Error(`integrity check failed:\n${stdout}${stderr}`);
    return stdout.trim().split("\n").filter(Boolean).length;
  } finally {
    rmSync(copy, { recursive: true, force: true, maxRetries: 20 });
  }
}
