// Queues, schedules and KV.

import { catching, until } from "./toolbox.mjs";

export default {
  queueBasics: async (t) => {
    const h = t.client.q.getOrCreate(t.key());
    const r = [];
    await h.send("a", { x: 1 });
    r.push(await h.next({ names: ["a"], timeout: 1000 }));
    r.push(await catching(h.next({ names: ["a"], timeout: 50 })));
    r.push(await h.tryNext({ names: ["a"] }));
    await h.send("a", 1);
    await h.send("b", 2);
    await h.send("a", 3);
    r.push(
      await h.nextBatch({ names: ["a"], count: 10 }),
      await h.nextBatch({ names: ["a", "b"], count: 10, timeout: 100 }),
    );
    return r;
  },
  queueLimits: async (t) => {
    const h = t.client.q.getOrCreate(t.key());
    const r = [];
    for (let i = 0; i < 4; i++) r.push(await catching(h.send("a", i)));
    const h2 = t.client.q.getOrCreate(t.key());
    r.push(await catching(h2.send("a", "x".repeat(5000))));
    r.push(await catching(h2.send("unknown", 1)));
    r.push(await catching(h2.send("guarded", 1)));
    r.push(await catching(h2.send("a", 1, { wait: true, timeout: 100 })));
    return r;
  },
  queueComplete: async (t) => {
    const h = t.client.q.getOrCreate(t.key());
    const s = catching(h.send("done", 5, { wait: true, timeout: 4000 }));
    const c = await h.complete();
    return [await s, c];
  },
  queueUncompleted: async (t) => {
    const h = t.client.q.getOrCreate(t.key());
    await h.send("a", 1);
    await h.send("a", 2);
    return h.uncompleted();
  },
  queueAct: async (t) => {
    const h = t.client.q.getOrCreate(t.key());
    return [
      await catching(h.action({ name: "send", args: ["a", 1] })),
      await catching(h.action({ name: "send", args: ["nope", 1] })),
    ];
  },
  queueSleep: async (t) => {
    const h = t.client.q.getOrCreate(t.key());
    await h.send("a", "keep");
    const id = await h.resolve();
    await h.sleep();
    await t.asleep(id);
    return h.next({ names: ["a"], timeout: 1000 });
  },
  sched: async (t) => {
    const h = t.client.sched.getOrCreate(t.key());
    const id = await h.after(3_000, "x");
    const r = [typeof id, await h.list(), await h.getMissing()];
    await h.missing();
    await until(
      () => h.fired(),
      (f) => f.length >= 1,
    );
    await h.at(Date.now() - 100, "past");
    r.push(
      await until(
        () => h.fired(),
        (f) => f.length >= 2,
      ),
    );
    return r;
  },
  schedSleep: async (t) => {
    const h = t.client.sched.getOrCreate(t.key());
    await h.after(5_000, "z");
    const id = await h.resolve();
    const s = typeof (await t.asleep(id));
    return [
      s,
      await until(
        () => h.fired(),
        (f) => f.length >= 1,
      ),
    ];
  },
  cron: async (t) => {
    const h = t.client.sched.getOrCreate(t.key());
    return [
      await h.every(),
      await catching(h.badEvery()),
      await catching(h.badCron()),
      await catching(h.badTz()),
      await catching(h.cronHistory()),
    ];
  },
  kv: async (t) => t.client.kv.getOrCreate(t.key()).run(),
  kvLimits: async (t) => {
    const h = t.client.kv.getOrCreate(t.key());
    return [await catching(h.big()), await catching(h.bigKey())];
  },
};
