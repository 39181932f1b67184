// The actors that are measured.

import { actor, queue, setup } from "greenroom";
import { rate } from "./stats.mjs";

// Nothing may fall asleep in the middle of a round but what is told to.
const noSleep = true;

const counter = actor({
  state: { count: 0 },
  options: { noSleep },
  actions: {
    increment: (c, by) => {
      c.state.count += by;
      return c.state.count;
    },
    /** Answers when the new count is on disk. */
    incrementDurably: async (c, by) => {
      c.state.count += by;
      await c.saveState({ immediate: true });
      return c.state.count;
    },
    /** Saves so many changes, each on disk before the next; gives the seconds it took. */
    saveOneByOne: async (c, saves) => {
      const since = performance.now();
      for (let save = 0; save < saves; save++) {
        c.state.count++;
        await c.saveState({ immediate: true });
      }
      return (performance.now() - since) / 1000;
    },
    get: (c) => c.state.count,
    nap: (c) => c.sleep(),
    burst: (c, count) => {
      for (let at = 0; at < count; at++) c.broadcast("tick", at);
    },
  },
});

const post = actor({
  queues: { jobs: queue() },
  options: { noSleep: true, maxQueueSize: 20_000, actionTimeout: 600_000 },
  actions: {
    /** Durable sends per second. */
    sendMany: async (c, total, inFlight) => {
      const perSecond = await rate(() => c.queue.send("jobs", { n: 1 }), total, inFlight);
      while ((await c.queue.nextBatch({ count: 1000, timeout: 0 })).length > 0);
      return perSecond;
    },
    /** Messages per second that are sent, received and completed, all durably. */
    cycle: async (c, total, inFlight) => {
      const since = performance.now();
      const sending = rate(() => c.queue.send("jobs", { n: 1 }), total, inFlight);
      for (let done = 0; done < total; ) {
        const jobs = await c.queue.nextBatch({ count: inFlight, completable: true });
        await Promise.all(jobs.map((job) => job.complete()));
        done += jobs.length;
      }
      await sending;
      return total / ((performance.now() - since) / 1000);
    },
  },
});

/** How late each bell rang, in milliseconds. */
export const lateness = [];

const bell = actor({
  options: { noSleep: true },
  actions: {
    arm: async (c, at) => {
      await c.schedule.at(at, "ring");
      c.sleep();
    },
    ring: (_c, { scheduledAt }) => {
      lateness.push(Date.now() - scheduledAt);
    },
  },
});

/** Answers when the new count is on disk, without a word about it. */
const replier = actor({
  state: { count: 0 },
  options: { noSleep, durability: "reply" },
  actions: {
    increment: (c, by) => {
      c.state.count += by;
      return c.state.count;
    },
  },
});

/** Has changes that only the end saves. */
const sleeper = actor({
  state: { count: 0 },
  options: { noSleep, stateSaveInterval: 3_600_000 },
  actions: {
    increment: (c, by) => {
      c.state.count += by;
      return c.state.count;
    },
  },
});

/** A fresh registry: each server and each figure has its own. */
export const makeRegistry = () => setup({ use: { counter, post, bell, replier, sleeper } });
