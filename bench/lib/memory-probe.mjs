// Memory of idle live actors, in a process that does nothing else: resident
// size and JavaScript heap after `few` and after `many` actors. The number of
// open databases has reached its bound before the first look, so that the
// difference is actors whose database is closed.

import { setTimeout as delay } from "node:timers/promises";
import { makeRegistry } from "./actors.mjs";

const [few, many] = process.argv.slice(2, 4).map(Number);
const registry = makeRegistry();
const client = registry.client();
let made = 0;

async function grow(to) {
  while (made < to) {
    const batch = Array.from({ length: Math.min(50, to - made) }, () =>
      client.counter.getOrCreate([`idle-${made++}`]).incrementDurably(1),
    );
    await Promise.all(batch);
  }
}

async function look() {
  // Let what is finished be collected, on both sides.
  for (let pass = 0; pass < 5; pass++) {
    globalThis.gc();
    await delay(200);
  }
  const { rss, heapTotal, external, arrayBuffers } = process.memoryUsage();
  return { rss, javascript: heapTotal + external + arrayBuffers };
}

await grow(few);
const before = await look();
await grow(many);
const after = await look();
const perActor = (field) => (after[field] - before[field]) / (many - few);
process.send({ resident: perActor("rss"), javascript: perActor("javascript") });
await registry.shutdown();
process.disconnect();
