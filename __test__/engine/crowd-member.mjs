// One process of a crowd: its actors stay awake until they are told to sleep, and it
// tells how many have started and what they take.

import { setTimeout as pause } from "node:timers/promises";
import { actor, setup } from "greenroom";

let starts = 0;

const member = actor({
  state: { count: 0 },
  options: { noSleep: true },
  onWake: () => {
    starts++;
  },
  actions: {
    add: (c) => ++c.state.count,
    sleep: (c) => c.sleep(),
  },
});

async function figures() {
  for (let pass = 0; pass < 3; pass++) {
    globalThis.gc();
    await pause(50);
  }
  return { starts, bytes: process.memoryUsage.rss() };
}

const registry = setup({ use: { member }, logging: { level: "silent" } });
process.on("message", async (message) => {
  if (message === "figures") return process.send({ figures: await figures() });
  await registry.shutdown();
  process.disconnect();
});
await registry.startAndWait();
process.send({ joined: process.pid });
