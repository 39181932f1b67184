// The program that both sides run, unchanged: the published package on whichever
// addon its `node_modules` holds.

import { actor, setup } from "rivetkit";

const counter = actor({
  state: { count: 0 },
  actions: {
    increment: (c, by = 1) => {
      c.state.count += by;
      return c.state.count;
    },
    count: (c) => c.state.count,
    sleep: (c) => c.sleep(),
  },
});

const registry = setup({ use: { counter }, noWelcome: true, startServices: false });
await registry.startAndWait();
process.send("ready");

process.on("message", async () => {
  process.disconnect();
  await registry.shutdown();
  process.exit();
});
