// One round, `node engine-round.mjs <guard.tcp_nodelay>`: an engine, the program of
// this folder on both addons in a pool each, and every figure in turns. Prints the
// medians in milliseconds as one line of JSON.

import { createClient } from "rivetkit/client";
import { engine, eventually, persist } from "../../__test__/engine/pool.mjs";
import { median } from "../lib/stats.mjs";
import { SIDES, scoped, startProgram } from "./on-engine.mjs";

/** Turns, and calls of each side in one. */
const TURNS = { socket: [8, 40], http: [8, 8], create: 12 };

/** The program on the packages of a folder, in a pool of its own. */
async function side(scope, name, folder, endpoint) {
  await startProgram(scope, "program.mjs", folder, endpoint, { env: { RIVET_POOL: name } });
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

async function measure(scope, endpoint) {
  const sides = {};
  for (const [name, folder] of Object.entries(SIDES)) sides[name] = await side(scope, name, folder, endpoint);
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

await scoped(async (scope) => {
  const { endpoint } = await engine(scope, { RIVET__GUARD__TCP_NODELAY: process.argv[2] });
  console.log(JSON.stringify(await measure(scope, endpoint)));
});
