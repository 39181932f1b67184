// Actors that the probes of `probes/` are run against: queues, schedules, KV.

import { actor, queue } from "rivetkit";

export const q = actor({
  state: { got: [] },
  queues: { a: queue(), b: queue(), done: queue(), guarded: queue({ canPublish: () => false }) },
  options: { maxQueueSize: 3, maxQueueMessageSize: 2000 },
  actions: {
    next: async (c, opts) => {
      const m = await c.queue.next(opts);
      return m ? { name: m.name, body: m.body, id: typeof m.id } : (m ?? "undefined");
    },
    tryNext: async (c, opts) => {
      const m = await c.queue.tryNext(opts);
      return m ? m.body : "none";
    },
    nextBatch: async (c, opts) => (await c.queue.nextBatch(opts)).map((m) => m.body),
    send: async (c, n, b) => {
      const m = await c.queue.send(n, b);
      return [m.name, m.body, typeof m.id];
    },
    complete: async (c) => {
      const [m] = await c.queue.nextBatch({ names: ["done"], completable: true, timeout: 3000 });
      await m.complete({ r: m.body });
      try {
        await m.complete(1);
      } catch (e) {
        return [e.group, e.code, e.message];
      }
    },
    uncompleted: async (c) => {
      await c.queue.nextBatch({ names: ["a"], completable: true, timeout: 1000 });
      try {
        await c.queue.nextBatch({ names: ["a"], completable: true, timeout: 100 });
      } catch (e) {
        return [e.group, e.code, e.message];
      }
    },
    size: async (c) => (await c.queue.size?.()) ?? "nosize",
    sleep: (c) => c.sleep(),
  },
});

export const sched = actor({
  state: { fired: [] },
  options: { sleepTimeout: 2_000 },
  actions: {
    after: (c, ms, x) => c.schedule.after(ms, "fire", x),
    at: (c, ts, x) => c.schedule.at(ts, "fire", x),
    missing: (c) => c.schedule.after(20, "nothere"),
    fire: (c, ...x) => {
      c.state.fired.push(x.length > 1 ? [x[0], Object.keys(x.at(-1) ?? {}).sort()] : x);
    },
    fired: (c) => c.state.fired,
    failing: (_c) => {
      throw new Error("x");
    },
    every: async (c) => {
      await c.cron.every({ name: "e", interval: 5000, action: "fire", args: ["e"] });
      const j = await c.cron.get("e");
      return { ...j, nextRunAt: typeof j.nextRunAt };
    },
    badEvery: (c) => c.cron.every({ name: "e", interval: 10, action: "fire", args: [] }),
    badCron: (c) => c.cron.set({ name: "x", expression: "nope", action: "fire", args: [] }),
    badTz: (c) => c.cron.set({ name: "x", expression: "* * * * *", timezone: "Mars/X", action: "fire", args: [] }),
    list: (c) => c.schedule.list().then((l) => l.map((x) => ({ ...x, id: typeof x.id, runAt: typeof x.runAt }))),
    getMissing: (c) => c.schedule.get("nope").then((x) => x ?? "undef"),
    cronHistory: (c) => c.cron.history({ name: "e" }).then((h) => h.length),
  },
});

export const kv = actor({
  actions: {
    run: async (c) => {
      const out = {};
      await c.kv.put("a", "1");
      await c.kv.put("b", "2");
      await c.kv.put("ab", "3");
      out.get = await c.kv.get("a");
      out.missing = await c.kv.get("zz");
      out.list = await c.kv.list("a");
      await c.kv.put("bin", new Uint8Array([1, 2]), { type: "binary" }).catch((e) => (out.binErr = e.message));
      out.bin = await c.kv
        .get("bin", { type: "binary" })
        .then((x) => [...(x ?? [])])
        .catch((e) => e.message);
      await c.kv.delete("a");
      out.after = await c.kv.get("a");
      out.listRev = await c.kv.list("", { reverse: true, limit: 2 }).catch((e) => e.message);
      try {
        out.batch = await c.kv.getBatch(["b", "x"]);
      } catch (e) {
        out.batch = e.message;
      }
      try {
        await c.kv.putBatch([
          ["x1", "y1"],
          ["x2", "y2"],
        ]);
        out.lx = await c.kv.list("x");
        await c.kv.deleteBatch(["x1"]);
        out.lx2 = await c.kv.list("x");
      } catch (e) {
        out.putBatch = e.message;
      }
      try {
        await c.kv.deleteRange("x1", "x9");
        out.range = await c.kv.list("x");
      } catch (e) {
        out.range = e.message;
      }
      try {
        out.lr = await c.kv.listRange("a", "c");
      } catch (e) {
        out.lr = e.message;
      }
      return out;
    },
    big: async (c) => c.kv.put("k", "x".repeat(200_000)),
    bigKey: async (c) => c.kv.put("k".repeat(3000), "x"),
  },
});
