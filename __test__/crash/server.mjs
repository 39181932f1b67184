// The process that the crash tests kill: counters that promise, in three ways,
// that an answer means "on disk".

import { actor, setup } from "greenroom";

const state = { count: 0 };

/** Waits for the save by itself before it answers. */
const saving = actor({
  state,
  actions: {
    increment: async (c, by) => {
      c.state.count += by;
      const { count } = c.state;
      await c.saveState({ immediate: true });
      return count;
    },
    get: (c) => c.state.count,
  },
});

/** Leaves the waiting to the runtime. */
const replying = actor({
  state,
  options: { durability: "reply" },
  actions: {
    increment: (c, by) => {
      c.state.count += by;
      return c.state.count;
    },
    get: (c) => c.state.count,
  },
});

const registry = setup({ use: { saving, replying } });
const { url } = await registry.listen({ port: 0, host: "127.0.0.1", dataDir: process.argv[2] });
// A test runner that dies takes the server with it.
process.on("disconnect", () => process.exit(1));
process.send({ url });
