// What one side does in one round, and how the two sides are compared.

import { bytesBelow } from "./side.mjs";

const CALLS = { inOrder: 100, inFlight: 640, created: 16, woken: 4 };
/** Actors created before those that count, so that Node.js has compiled both sides' part in it. */
const UNCOUNTED = 8;
const PATIENCE = 30_000;
const MB = 1e6;

let keys = 0;
const fresh = (side) => side.client.counter.getOrCreate([`bench-${keys++}`]);

/** Milliseconds that each of `total` calls took, one after the other; gives their median. */
async function medianOf(total, once) {
  const times = [];
  for (let left = total; left > 0; left--) {
    const since = performance.now();
    await once();
    times.push(performance.now() - since);
  }
  return times.sort((a, b) => a - b)[total >> 1];
}

async function throughSocket(side, inFlight, total) {
  const connection = fresh(side).connect();
  try {
    await connection.increment();
    if (inFlight === 1) return await medianOf(total, () => connection.increment());
    const since = performance.now();
    let left = total;
    const worker = async () => {
      while (left-- > 0) await connection.increment();
    };
    await Promise.all(Array.from({ length: inFlight }, worker));
    return (performance.now() - since) / total;
  } finally {
    await connection.dispose();
  }
}

async function throughHttp(side) {
  const handle = fresh(side);
  await handle.increment();
  return medianOf(CALLS.inOrder, () => handle.increment());
}

/** Resolves once the actor is asleep, as the actors API tells it. */
async function asleep(side, id) {
  const deadline = performance.now() + PATIENCE;
  for (;;) {
    const response = await fetch(`${side.endpoint}/actors?namespace=default&actor_ids=${id}`);
    const { actors } = await response.json();
    if (typeof actors?.[0]?.sleep_ts === "number") return;
    if (performance.now() > deadline) throw new Error(`an actor did not fall asleep within ${PATIENCE} ms`);
  }
}

async function newActor(side) {
  const once = () => fresh(side).increment();
  for (let left = UNCOUNTED; left > 0; left--) await once();
  return medianOf(CALLS.created, once);
}

async function wake(side) {
  const times = [];
  for (let left = CALLS.woken; left > 0; left--) {
    const handle = fresh(side);
    await handle.increment();
    const id = await handle.resolve();
    await handle.sleep();
    await asleep(side, id);
    times.push(await medianOf(1, () => handle.count()));
  }
  return times.sort((a, b) => a - b)[CALLS.woken >> 1];
}

/** The figures in the order of the table: `value(side)` measures one side once. */
export const FIGURES = [
  {
    title: "Action over WebSocket, 1 in flight",
    unit: "ms",
    atLeast: 10,
    value: (side) => throughSocket(side, 1, CALLS.inOrder),
  },
  {
    title: "Action over WebSocket, 64 in flight, time per action",
    unit: "ms",
    atLeast: 10,
    value: (side) => throughSocket(side, 64, CALLS.inFlight),
  },
  { title: "Action over HTTP, 1 in flight", unit: "ms", atLeast: 10, value: throughHttp },
  { title: "New actor, created and answered", unit: "ms", atLeast: 50, value: newActor },
  { title: "Wake of a sleeping actor, answered", unit: "ms", atLeast: 20, value: wake },
  { title: "Resident memory of all processes", unit: "MB", atMost: 0.5, value: (side) => side.memory() / MB },
  { title: "Cold start: process started to first answer", unit: "ms", value: (side) => side.coldStart },
  { title: "Addon and engine on disk", unit: "MB", value: (side) => side.files.reduce(sumOfFiles, 0) / MB },
];

const sumOfFiles = (sum, path) => sum + bytesBelow(path);
