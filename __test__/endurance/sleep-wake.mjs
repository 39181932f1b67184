// Sends one actor to sleep and wakes it, again and again; sends the native
// memory of the process at a number of points on the way.

import { setTimeout as delay } from "node:timers/promises";
import { whenAsleep } from "../../scripts/lib/host.mjs";
import { registry } from "./actors.mjs";

const [rounds, points] = process.argv.slice(2).map(Number);
const { url } = await registry.listen({ port: 0, host: "127.0.0.1" });
const handle = registry.client().counter.getOrCreate(["sleeper"]);
await handle.increment(1);
const id = await handle.resolve();

async function nativeBytes() {
  for (let pass = 0; pass < 3; pass++) {
    globalThis.gc();
    await delay(50);
  }
  const { rss, heapTotal, external, arrayBuffers } = process.memoryUsage();
  return rss - heapTotal - external - arrayBuffers;
}

const seen = [];
for (let round = 1; round <= rounds; round++) {
  await handle.nap();
  await whenAsleep(url, id);
  if ((await handle.get()) !== 1) throw new Error("the state did not survive the sleep");
  if (round % Math.floor(rounds / points) === 0) seen.push({ round, bytes: await nativeBytes() });
}
await registry.shutdown();
process.send({ seen });
process.disconnect();
