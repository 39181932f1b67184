// Runs a program of this repository on the packages of another folder, which may hold
// the published package with its own addon and engine.

import { fork } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { nodeBinary } from "./nodes.mjs";
import { freePort } from "./runtime.mjs";

/**
 * The engine leaves work lying when the machine is busy and takes a program that
 * answers late for dead; either would end a run in a timeout. So it is told that
 * it has cores in plenty (in thousandths), and to wait (milliseconds).
 */
const PATIENT_ENGINE = {
  RIVET__RUNTIME__WORKER_CPU_MAX: "1000000",
  RIVET__PEGBOARD__ENVOY_ELIGIBLE_THRESHOLD: "120000",
  RIVET__PEGBOARD__ENVOY_LOST_THRESHOLD: "120000",
};

/**
 * Starts `program` (a URL), with the modules `beside` it, on the `node_modules` of
 * `folder`, with a port and a data folder of its own.
 */
export async function startElsewhere(folder, program, beside = []) {
  const home = mkdtempSync(join(tmpdir(), "greenroom-elsewhere-"));
  symlinkSync(join(folder, "node_modules"), join(home, "node_modules"));
  for (const url of [program, ...beside]) copyFileSync(url, join(home, basename(fileURLToPath(url))));
  const port = await freePort();
  const child = fork(join(home, basename(fileURLToPath(program))), [], {
    cwd: home,
    execPath: nodeBinary(22),
    execArgv: [],
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    env: {
      ...process.env,
      RIVETKIT_RUNTIME: "native",
      RIVETKIT_STORAGE_PATH: home,
      RIVET_RUN_ENGINE: "1",
      RIVET_RUN_ENGINE_PORT: String(port),
      RIVET_LOG_LEVEL: "silent",
      ...PATIENT_ENGINE,
    },
  });
  const ended = once(child, "exit");
  const stop = async () => {
    // The engine outlives the program that spawned it, by design.
    const started = processTree(child.pid).filter((pid) => pid !== child.pid);
    if (child.connected) child.send("stop");
    await ended;
    await Promise.all(started.map(end));
    rmSync(home, { recursive: true, force: true, maxRetries: 20 });
  };
  const [message] = await Promise.race([once(child, "message"), ended.then(() => [])]);
  if (message === undefined) {
    await stop();
    throw new Error(`the program on ${folder} ended before it was ready`);
  }
  return {
    endpoint: `http://127.0.0.1:${port}`,
    /** Resident bytes of the program and of all that it started. */
    memory: () => processTree(child.pid).reduce((sum, pid) => sum + resident(pid), 0),
    stop,
  };
}

const status = (pid, field) => {
  try {
    const line = new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"));
    return line ? Number(line[1]) : undefined;
  } catch {
    return undefined; // it ended meanwhile
  }
};

const resident = (pid) => (status(pid, "VmRSS") ?? 0) * 1024;

/** `root` and everything below it, by the parents that /proc names. */
function processTree(root) {
  const parents = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => [Number(name), status(name, "PPid")]);
  const tree = [root];
  for (const parent of tree) tree.push(...parents.filter(([, of]) => of === parent).map(([pid]) => pid));
  return tree;
}

/** Ends a process that is no child of ours, and waits until it is gone. */
async function end(pid) {
  const tell = (signal) => {
    try {
      return process.kill(pid, signal);
    } catch {
      return false;
    }
  };
  tell("SIGTERM");
  for (let waited = 0; tell(0); waited += 20) {
    if (waited === 5_000) tell("SIGKILL");
    await pause(20);
  }
}
