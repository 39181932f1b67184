// What only shows in numbers: file handles with thousands of actors, memory
// over thousands of lives. `GREENROOM_LONG=1` takes the long form.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

const LONG = process.env.GREENROOM_LONG === "1";
const ACTORS = LONG ? 5000 : 600;
const ROUNDS = LONG ? 20_000 : 1500;
const LIVES = LONG ? 10_000 : 400;
const HANDLES = 256;
/** Bytes that a process may grow by without a leak. */
const SETTLING = 16 * 2 ** 20;

/** Runs a script of this folder below a shell prefix and gives the one message it sends. */
async function runScript(t, prefix, script, ...args) {
  const dataDir = mkdtempSync(join(tmpdir(), "greenroom-endurance-"));
  t.after(() => rmSync(dataDir, { recursive: true, force: true, maxRetries: 20 }));
  const path = fileURLToPath(new URL(script, import.meta.url));
  const command = `${prefix} exec "$0" --expose-gc "$@"`;
  const child = spawn("sh", ["-c", command, process.execPath, path, ...args.map(String)], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    // One arena: with many, what threads leave behind in each looks like growth.
    env: { ...process.env, GREENROOM_DATA_DIR: dataDir, MALLOC_ARENA_MAX: "1" },
  });
  t.after(() => child.kill("SIGKILL"));
  const ended = once(child, "exit");
  const [message] = await Promise.race([
    once(child, "message"),
    ended.then(([code, signal]) => assert.fail(`${script} ended early: ${code ?? signal}`)),
  ]);
  const [code] = await ended;
  assert.equal(code, 0, "it leaves with exit code 0");
  return message;
}

const unix = { skip: process.platform === "win32" && "needs a POSIX shell" };

test(`${ACTORS} live actors fit into ${HANDLES} file handles`, unix, async (t) => {
  const prefix = `ulimit -n ${HANDLES} &&`;
  const { wrong, handles } = await runScript(t, prefix, "many-actors.mjs", ACTORS);
  assert.deepEqual(wrong, []);
  assert.ok(handles <= HANDLES);
  t.diagnostic(`${handles} handles at most`);
});

test(`native memory does not grow over ${ROUNDS} sleeps and wakes of one actor`, unix, async (t) => {
  const { seen } = await runScript(t, "", "sleep-wake.mjs", ROUNDS, 10);
  // The first points warm allocator and caches up. The most of a few: a point may
  // fall just after the garbage collector gave memory back.
  const peak = (points) => points.reduce((most, point) => (point.bytes > most.bytes ? point : most));
  const [from, to] = [peak(seen.slice(1, 5)), seen.at(-1)];
  const perRound = (to.bytes - from.bytes) / (to.round - from.round);
  t.diagnostic(
    `${perRound.toFixed(0)} bytes per round; ${seen.map(({ bytes }) => (bytes / 2 ** 20).toFixed(1)).join(", ")} MB`,
  );
  // A leaked context would be tens of kilobytes; page noise over a short run is not a leak.
  assert.ok(perRound < (LONG ? 256 : 8192), `${perRound.toFixed(0)} bytes per round`);
});

test(`memory and handles stay flat over ${LIVES} whole lives of actors`, unix, async (t) => {
  const { seen } = await runScript(t, "", "lifecycles.mjs", LIVES, 10);
  const [from, to] = [seen[4], seen.at(-1)];
  const grown = to.bytes - from.bytes;
  const line = seen.map(({ bytes, files, resources }) => `${(bytes / 2 ** 20).toFixed(1)}/${files}/${resources}`);
  t.diagnostic(`MB/files/resources: ${line.join(", ")}`);
  // A runtime, a context or a database that stays would be tens of kilobytes a
  // life; allocators and caches settle within the allowance.
  const allowed = SETTLING + 1024 * (to.lives - from.lives);
  assert.ok(grown < allowed, `${grown} bytes more after ${to.lives - from.lives} lives`);
  // Connections of the client come and go; what grows with the lives would show.
  assert.ok(to.files <= from.files + 16, `${from.files} open files became ${to.files}`);
  assert.ok(to.resources <= from.resources + 16, `${from.resources} resources became ${to.resources}`);
});
