// The actors that the published client is tried on. Plain greenroom, written
// from its documentation; no knowledge of who calls.

import greenroom from "../index.js";
import * as socketActors from "./socket-actors.mjs";

const { actor, queue, setup, UserError } = greenroom;

const counter = actor({
  state: { count: 0 },
  actions: {
    increment: async (c, by = 1) => {
      c.state.count += by;
      await c.saveState({ immediate: true });
      return c.state.count;
    },
    get: (c) => c.state.count,
    id: (c) => c.actorId,
    key: (c) => c.key,
    leave: (c) => c.destroy(),
    nap: (c) => c.sleep(),
    nested: { twice: (_c, value) => value * 2 },
  },
});

/** Names a value so that the test sees what reached the actor, whatever the way back does. */
function describe(value) {
  if (typeof value === "bigint") return `bigint ${value}`;
  if (value instanceof Uint8Array) return `bytes ${[...value]}`;
  if (value instanceof Date) return `date ${value.toISOString()}`;
  if (value instanceof Map) return `map ${JSON.stringify([...value])}`;
  if (value instanceof Set) return `set ${[...value]}`;
  if (Array.isArray(value)) return `[${value.map(describe).join("; ")}]`;
  return value === undefined ? "undefined" : JSON.stringify(value);
}

const echo = actor({
  actions: {
    same: (_c, value) => value,
    describe: (_c, value) => describe(value),
    count: (_c, ...values) => values.length,
    nothing: () => undefined,
    nil: () => null,
    large: (_c, bytes) => "x".repeat(bytes),
  },
});

const trouble = actor({
  actions: {
    refuse: () => {
      throw new UserError("The shop is closed", {
        code: "closed",
        metadata: { opensAt: 9, days: ["mon", "tue"], note: null },
      });
    },
    refusePlainly: () => {
      throw new UserError("No");
    },
    boom: () => {
      throw new Error("secret: the password is 42");
    },
    reject: async () => {
      throw new TypeError("secret: rejected");
    },
    throwText: () => {
      throw "secret: not even an Error";
    },
    unserializable: () => ({ fn: () => {} }),
    ping: () => "pong",
  },
});

// By itself, so that its short time binds no action that should succeed.
const impatient = actor({
  options: { actionTimeout: 1_000 },
  actions: { hang: () => new Promise(() => {}), ping: () => "pong" },
});

const born = actor({
  createState: (_c, input) => ({ input }),
  actions: { input: (c) => c.state.input, id: (c) => c.actorId },
});

const mailbox = actor({
  queues: {
    jobs: queue(),
    letters: queue(),
    secret: queue({ canPublish: (c) => c.conn.params?.token === "t" }),
  },
  // Short, so that jobs also come to an actor that fell asleep while it waited.
  options: { sleepTimeout: 200 },
  run: async (c) => {
    for await (const job of c.queue.iter({ names: ["jobs"], completable: true })) {
      await job.complete({ echo: job.body });
    }
  },
  actions: {
    letters: async (c) => {
      const letters = await c.queue.nextBatch({ names: ["letters", "secret"], count: 100, timeout: 0 });
      return letters.map(({ name, body }) => [name, body]);
    },
  },
});

// Holds two small messages, and nobody takes them out.
const pigeonhole = actor({
  queues: { letters: queue() },
  options: { maxQueueSize: 2, maxQueueMessageSize: 1_024 },
});

const registry = setup({ use: { counter, echo, trouble, impatient, born, mailbox, pigeonhole, ...socketActors } });
const { url } = await registry.listen({
  port: Number(process.argv[3] ?? 0),
  host: "127.0.0.1",
  dataDir: process.argv[2],
});

process.on("message", async () => {
  await registry.shutdown();
  process.disconnect();
});
// A test runner that dies takes its server with it.
process.on("disconnect", () => registry.shutdown());
process.send({ url });
