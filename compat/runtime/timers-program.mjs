// Queues, schedules, cron jobs and keys, written for the published package.

import { actor, queue, setup } from "rivetkit";

const worker = actor({
  state: { done: [], rang: [] },
  queues: { jobs: queue(), letters: queue() },
  options: { sleepTimeout: 300 },
  run: async (c) => {
    for await (const job of c.queue.iter({ names: ["jobs"], completable: true })) {
      c.state.done.push(job.body);
      await job.complete({ echo: job.body });
    }
  },
  actions: {
    done: (c) => c.state.done,
    write: async (c, ...bodies) => {
      const sent = [];
      for (const body of bodies) sent.push(await c.queue.send("letters", body));
      return sent.map(({ id }) => Number(id));
    },
    read: async (c) => (await c.queue.nextBatch({ names: ["letters"], count: 10, timeout: 0 })).map(({ body }) => body),
    self: (c, body) => c.queue.enqueueAndWait("jobs", body, { timeout: 10_000 }),
    timeOut: (c) => c.queue.waitForNames(["letters"], { timeout: 10 }),
    remind: (c, ms, text) => c.schedule.after(ms, "ring", text),
    ring: async (c, text, fire) => {
      c.state.rang.push([text, fire.kind]);
      await c.saveState({ immediate: true });
    },
    rang: (c) => c.state.rang,
    list: async (c) => (await c.schedule.list()).map(({ action, args }) => [action, args]),
    cancel: (c, id) => c.schedule.cancel(id),
    cron: async (c) => {
      await c.cron.set({ name: "a", expression: "0 9 * * 1", timezone: "Europe/Berlin", action: "ring", args: [1] });
      await c.cron.every({ name: "b", interval: 60_000, action: "ring" });
      const jobs = await c.cron.list();
      await c.cron.delete("b");
      return [jobs.map(({ name, kind }) => [name, kind]).sort(), await c.cron.get("b"), await c.cron.history("a")];
    },
    keys: async (c) => {
      await c.kv.put("one", "1");
      await c.kv.put("two", "2");
      await c.kv.delete("one");
      return [await c.kv.get("one"), await c.kv.get("two"), await c.kv.list("t")];
    },
  },
});

const registry = setup({ use: { worker }, noWelcome: true, startServices: false });
await registry.startAndWait();
process.send("ready");

process.on("message", async () => {
  process.disconnect();
  await registry.shutdown();
});
