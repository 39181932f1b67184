// A program written for the published package, as its users write them. It runs
// on greenroom because the package finds it under its addon's name.

import { actor, event, setup, UserError } from "rivetkit";

const counter = actor({
  createState: (_c, input) => ({ count: input?.from ?? 0, woken: 0 }),
  createConnState: (_c, params) => ({ name: params?.name ?? "nobody", calls: 0 }),
  onBeforeConnect: (_c, params) => {
    if (params?.name === "mallory") throw new UserError("Not you", { code: "refused" });
  },
  onWake: (c) => {
    c.state.woken += 1;
  },
  events: { count: event() },
  actions: {
    increment: (c, by = 1) => {
      c.state.count += by;
      c.broadcast("count", c.state.count);
      return c.state.count;
    },
    count: (c) => c.state.count,
    woken: (c) => c.state.woken,
    whoami: (c) => {
      c.conn.state.calls += 1;
      return { name: c.conn.state.name, calls: c.conn.state.calls };
    },
    save: (c) => c.saveState({ immediate: true }),
    refuse: () => {
      throw new UserError("The shop is closed", { code: "closed", metadata: { opensAt: 9 } });
    },
    boom: () => {
      throw new Error("a secret");
    },
    sleep: (c) => c.sleep(),
    destroy: (c) => c.destroy(),
    other: async (c, key, by) => c.client().counter.getOrCreate([key]).increment(by),
  },
});

const registry = setup({ use: { counter }, noWelcome: true, startServices: false });
await registry.startAndWait();
process.send("ready");

process.on("message", async () => {
  process.disconnect();
  await registry.shutdown();
});
