// One process of a pool: joins the engine that the environment names.

import { setTimeout as pause } from "node:timers/promises";
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

/** Remembers what it is told, by action and by raw socket, and saves when the runtime does. */
const notes = actor({
  state: { notes: [] },
  options: { canHibernateWebSocket: true, sleepTimeout: 60_000 },
  actions: {
    note: (c, text) => c.state.notes.push(text),
    all: (c) => c.state.notes,
    where: () => process.pid,
    /** What was said so far is on disk after this, and the connections as well. */
    keep: (c) => c.saveState({ immediate: true }),
    /** Ends when its caller says so, with `go`. */
    hang: (c) => new Promise((resolve) => (c.vars.go = resolve)),
    go: (c) => c.vars.go?.("gone"),
    /** Says a lot, a moment later and little by little; tells its parent what it took. */
    shout: (c, megabytes) => {
      const text = "x".repeat(1 << 20);
      const before = process.memoryUsage().rss;
      const shouting = async () => {
        await pause(2_000);
        let most = before;
        for (let time = 0; time < megabytes; time++) {
          c.broadcast("shout", time, text);
          await pause(5);
          most = Math.max(most, process.memoryUsage().rss);
        }
        process.send({ shouted: most - before });
      };
      c.keepAwake(shouting());
    },
  },
  createVars: () => ({}),
  onWebSocket: (c, socket) => {
    socket.addEventListener("message", ({ data }) => {
      c.state.notes.push(String(data));
      socket.send(`${process.pid} ${data}`);
    });
  },
});

/** What it was given is on disk when it says so. */
const ledger = actor({
  state: { entries: [] },
  options: { sleepTimeout: 60_000 },
  actions: {
    put: async (c, entry) => {
      c.state.entries.push(entry);
      await c.saveState({ immediate: true });
    },
    all: (c) => c.state.entries,
  },
});

const registry = setup({ use: { counter, ledger, notes, sql }, logging: { level: "silent" } });
process.on("message", async (message) => {
  if (message !== "leave") return;
  await registry.shutdown();
  process.disconnect();
});
await registry.startAndWait();
process.send({ joined: process.pid });
