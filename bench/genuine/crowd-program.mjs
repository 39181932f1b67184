// One process of a crowd, unchanged on whichever addon its `node_modules` holds: its
// actors stay awake until they are told to sleep, and it tells what it has become.

import { actor, setup } from "rivetkit";

let starts = 0;

const member = actor({
  state: { count: 0 },
  options: { noSleep: true },
  onWake: () => {
    starts++;
  },
  actions: {
    add: (c) => {
      c.state.count += 1;
      return c.state.count;
    },
    sleep: (c) => c.sleep(),
  },
});

const registry = setup({ use: { member }, noWelcome: true, startServices: false });
process.on("message", async (message) => {
  if (message === "figures") {
    for (let pass = 0; pass < 3; pass++) {
      globalThis.gc();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    process.send({ figures: { starts, bytes: process.memoryUsage.rss() } });
    return;
  }
  process.disconnect();
  await registry.shutdown();
  process.exit();
});
await registry.startAndWait();
process.send({ joined: process.pid });
