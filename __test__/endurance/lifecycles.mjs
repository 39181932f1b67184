// Takes many actors through whole lives: made, put to sleep, woken, destroyed;
// sends the memory of the process and its open handles at points on the way.

import { readdirSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { actorEntry, whenAsleep } from "../../scripts/lib/host.mjs";
import { registry } from "./actors.mjs";

const [lives, points] = process.argv.slice(2).map(Number);
/** Lives at the same time. */
const ABREAST = 16;
const { url } = await registry.listen({ port: 0, host: "127.0.0.1" });
const client = registry.client();

async function live(key) {
  const handle = client.counter.getOrCreate([key]);
  if ((await handle.increment(1)) !== 1) throw new Error("a new actor was not new");
  const id = await handle.resolve();
  await handle.nap();
  await whenAsleep(url, id);
  if ((await handle.get()) !== 1) throw new Error("the state did not survive the sleep");
  await handle.end();
  while ((await actorEntry(url, id))?.destroy_ts === null) await delay(1);
}

async function measure(done) {
  // What a life leaves behind for a moment is not what it leaves behind.
  for (let pass = 0; pass < 3; pass++) {
    globalThis.gc();
    await delay(50);
  }
  const files = process.platform === "linux" ? readdirSync("/proc/self/fd").length : 0;
  return { lives: done, bytes: process.memoryUsage.rss(), files, resources: process.getActiveResourcesInfo().length };
}

const seen = [];
for (let point = 1; point <= points; point++) {
  let next = 0;
  const share = Math.floor(lives / points);
  const one = async () => {
    while (next < share) await live(`life-${point}-${next++}`);
  };
  await Promise.all(Array.from({ length: ABREAST }, one));
  seen.push(await measure(point * share));
}
await registry.shutdown();
process.send({ seen });
process.disconnect();
