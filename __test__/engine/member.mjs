// One process of a pool: joins the engine that the environment names.

import { actor, setup } from "greenroom";

const counter = actor({
  state: { count: 0 },
  options: { sleepTimeout: 60_000 },
  actions: {
    add: async (c, by) => {
      c.state.count += by;
      await c.saveState({ immediate: true });
      c.broadcast("count", c.state.count);
      return c.state.count;
    },
    get: (c) => c.state.count,
    where: () => process.pid,
    /**
     * Saves again and again until a save fails; tells its parent how far it came.
     * Only in one process: a client that hears nothing asks the next one.
     */
    write: async (c, pid) => {
      if (process.pid !== pid) return 0;
      for (let count = c.state.count + 1; ; count++) {
        c.state.count = count;
        try {
          await c.saveState({ immediate: true });
        } catch (error) {
          process.send({ failed: count, error: String(error) });
          return count;
        }
        process.send({ saved: count });
      }
    },
  },
});

const sql = actor({
  state: {},
  actions: {
    write: async (c, text) => {
      await c.db.execute("create table if not exists entry (text text)");
      await c.db.execute("insert into entry values (?)", text);
    },
    read: async (c) => (await c.db.execute("select text from entry order by rowid")).map((row) => row.text),
  },
});

const registry = setup({ use: { counter, sql }, logging: { level: "silent" } });
process.on("message", async (message) => {
  if (message !== "leave") return;
  await registry.shutdown();
  process.disconnect();
});
await registry.startAndWait();
process.send({ joined: process.pid });
