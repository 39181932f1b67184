// One round, `node engine-round.mjs <guard.tcp_nodelay>`: an engine, the program of
// this folder on both addons in a pool each, and every figure in turns. Prints the
// medians in milliseconds as one line of JSON.

import { fork } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient } from "rivetkit/client";
import { engine, eventually, persist, temporaryFolder } from "../../__test__/engine/pool.mjs";
import { median } from "../lib/stats.mjs";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const SIDES = { genuine: ".", ours: "../../compat" };
/** Turns, and calls of each side in one. */
const TURNS = { socket: [8, 40], http: [8, 8], create: 12 };

/** What the helpers of the tests clean up at the end of a test, and this at its own. */
const cleanup = [];
const scope = { after: (work) => cleanup.push(work) };

/** The program on the packages of a folder, in a pool of its own. */
async function side(name, folder, endpoint) {
  const home = temporaryFolder(scope);
  symlinkSync(at(`${folder}/node_modules`), join(home, "node_modules"));
  copyFileSync(at("program.mjs"), join(home, "program.mjs"));
  const child = fork(join(home, "program.mjs"), [], {
    cwd: home,
    execArgv: [],
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    env: {
      ...process.env,
      RIVETKIT_RUNTIME: "native",
      RIVETKIT_ENGINE_SPAWN: "never",
      RIVET_ENDPOINT: endpoint,
      RIVET_POOL: name,
      RIVET_LOG_LEVEL: "silent",
    },
  });
  const ended = once(child, "exit");
  scope.after(async () => {
    if (child.connected) child.send("stop");
    await ended;
  });
  const [message] = await Promise.race([once(child, "message"), ended.then(() => [])]);
  if (message === undefined) throw new Error(`the program on ${folder} ended before it was ready`);
  const client = createClient({ endpoint, poolName: name, encoding: "bare", disableMetadataLookup: true });
  scope.after(() => client.dispose());
  const handle = client.counter.getOrCreate([name]);
  await persist("a first answer", () => handle.increment());
  const connection = handle.connect();
  for (let warm = 0; warm < 20; warm++) await connection.increment();
  return { client, handle, connection, times: { socket: [], http: [], create: [], wake: [] } };
}

async function timed(times, call) {
  const since = performance.now();
  await call();
  times.push(performance.now() - since);
}

/** A new actor; then its wake, once the engine says that it sleeps. */
async function createAndWake({ client, times }, key, endpoint) {
  const handle = client.counter.getOrCreate([key]);
  await timed(times.create, () => handle.increment());
  const id = await handle.resolve();
  // The actor may be gone before its answer is.
  await handle.sleep().catch(() => {});
  await eventually("it sleeps", async () => {
    const answer = await fetch(`${endpoint}/actors?namespace=default&actor_ids=${id}`);
    return typeof (await answer.json()).actors?.[0]?.sleep_ts === "number";
  });
  await timed(times.wake, () => handle.increment());
}

async function measure(endpoint) {
  const sides = {};
  for (const [name, folder] of Object.entries(SIDES)) sides[name] = await side(name, folder, endpoint);
  const each = async (turns, work) => {
    for (let turn = 0; turn < turns; turn++) for (const one of Object.values(sides)) await work(one, turn);
  };
  await each(TURNS.socket[0], async ({ connection, times }) => {
    for (let call = 0; call < TURNS.socket[1]; call++) await timed(times.socket, () => connection.increment());
  });
  await each(TURNS.http[0], async ({ handle, times }) => {
    for (let call = 0; call < TURNS.http[1]; call++) await timed(times.http, () => handle.increment());
  });
  await each(TURNS.create, (one, turn) => createAndWake(one, `turn-${turn}`, endpoint));
  for (const { connection } of Object.values(sides)) await connection.dispose();
  const medians = ({ times }) =>
    Object.fromEntries(Object.entries(times).map(([name, list]) => [name, Number(median(list).toFixed(2))]));
  return Object.fromEntries(Object.entries(sides).map(([name, one]) => [name, medians(one)]));
}

try {
  const { endpoint } = await engine(scope, {
    RIVET__GUARD__TCP_NODELAY: process.argv[2],
    // As the published package starts it.
    RIVET__FEATURES__GUARD_GATEWAY_V3__MODE: "on",
    RIVET__FEATURES__GUARD_GATEWAY_V3__PERCENTAGE: "100",
  });
  console.log(JSON.stringify(await measure(endpoint)));
} finally {
  for (const work of cleanup.reverse()) await work();
}
