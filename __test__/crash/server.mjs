// The process that the crash tests kill: counters that promise, in several ways,
// that an answer means "on disk".

import { actor, db, setup } from "greenroom";

const state = { count: 0 };

/** Waits for the save by itself before it answers. */
const saving = actor({
  state,
  actions: {
    increment: async (c, by) => {
      c.state.count += by;
      const { count } = c.state;
      await c.saveState({ immediate: true });
      c.broadcast("count", count);
      return count;
    },
    get: (c) => c.state.count,
    connected: (c) => c.conns.size,
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

const entries = db({
  onMigrate: async (tx) => {
    await tx.execute("create table if not exists entry (id integer primary key, by integer)");
  },
});

const sum = async (tx) => (await tx.get("select coalesce(sum(by), 0) as n from entry")).n;

/** Counts in rows, several of them per transaction. */
const rows = actor({
  db: entries,
  actions: {
    increment: (c, by) =>
      c.db.transaction(async (tx) => {
        await tx.run("insert into entry (by) values (?)", by + 1);
        await tx.run("insert into entry (by) values (?)", -1);
        return sum(tx);
      }),
    get: (c) => sum(c.db),
  },
});

/** Counts in rows and in the state, which must always agree. */
const together = actor({
  state,
  db: entries,
  actions: {
    increment: (c, by) =>
      c.db.transaction(
        async (tx) => {
          await tx.run("insert into entry (by) values (?)", by);
          c.state.count += by;
          return c.state.count;
        },
        { includeState: true },
      ),
    get: async (c) => {
      const inRows = await sum(c.db);
      if (inRows !== c.state.count) throw new Error(`rows say ${inRows}, the state says ${c.state.count}`);
      return inRows;
    },
  },
});

const registry = setup({ use: { saving, replying, rows, together } });
const { url } = await registry.listen({ port: Number(process.argv[3]), host: "127.0.0.1", dataDir: process.argv[2] });
// A test runner that dies takes the server with it.
process.on("disconnect", () => process.exit(1));
process.send({ url });
