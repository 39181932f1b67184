// Everything else that the published package offers, one actor per subject.

import { actor, event, queue, setup } from "rivetkit";
import { db } from "rivetkit/db";
import { Loop, workflow } from "rivetkit/workflow";

const web = actor({
  state: { hits: 0 },
  options: { canHibernateWebSocket: true },
  actions: { hits: (c) => c.state.hits },
  onRequest: async (c, request) => {
    c.state.hits += 1;
    const { pathname, searchParams } = new URL(request.url);
    // The package lets go of a body when its handler returns, so it is read before.
    if (pathname === "/echo") return new Response(await request.arrayBuffer(), { headers: { "x-kind": "echo" } });
    if (pathname === "/numbers") {
      const count = Number(searchParams.get("count"));
      const body = new ReadableStream({
        async start(controller) {
          for (let n = 0; n < count; n += 1) {
            controller.enqueue(new TextEncoder().encode(`data: ${n}\n\n`));
            await new Promise(setImmediate);
          }
          controller.close();
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    }
    return Response.json({ method: request.method, pathname, agent: request.headers.get("x-agent") }, { status: 201 });
  },
  onWebSocket: (c, socket) => {
    socket.send("welcome");
    socket.addEventListener("message", ({ data }) => {
      if (data === "close") return socket.close(4001, "as you like");
      if (data === "hits") return socket.send(String(c.state.hits));
      socket.send(data);
    });
  },
});

const worker = actor({
  state: { done: [] },
  queues: { jobs: queue(), questions: queue() },
  actions: {
    done: (c) => c.state.done,
    put: (c, job) => c.queue.send("jobs", job).then(() => undefined),
    sleep: (c) => c.sleep(),
  },
  run: async (c) => {
    for await (const message of c.queue.iter({ completable: true })) {
      if (message.name === "questions") {
        await message.complete({ answer: message.body.question * 2 });
      } else {
        c.state.done.push(message.body);
        await message.complete();
      }
    }
  },
});

const timer = actor({
  state: { fired: [] },
  events: { fired: event() },
  actions: {
    after: (c, delay, what) => c.schedule.after(delay, "fire", what),
    cancel: (c, id) => c.schedule.cancel(id),
    pending: async (c) => (await c.schedule.list()).map(({ action, args }) => [action, ...args]),
    fire: (c, what) => {
      c.state.fired.push(what);
      c.broadcast("fired", what);
    },
    fired: (c) => c.state.fired,
    daily: async (c) => {
      await c.cron.set({
        name: "daily",
        expression: "0 9 * * *",
        timezone: "Europe/Berlin",
        action: "fire",
        args: ["daily"],
      });
      const job = await c.cron.get("daily");
      return [job.kind, job.expression, job.timezone, job.nextRunAt > Date.now()];
    },
    jobs: async (c) => (await c.cron.list()).map(({ name }) => name),
    sleep: (c) => c.sleep(),
  },
});

const notes = actor({
  db: db({
    onMigrate: async (database) => {
      await database.execute(
        "CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL, data BLOB)",
      );
    },
  }),
  actions: {
    add: async (c, text) => {
      await c.db.execute("INSERT INTO notes (text) VALUES (?)", text);
    },
    all: (c) => c.db.execute("SELECT id, text FROM notes ORDER BY id"),
    big: async (c) => (await c.db.execute("SELECT 9007199254740993 AS n, x'0102' AS b, 1.5 AS r, NULL AS z"))[0],
    broken: (c) => c.db.execute("SELECT nothing FROM nowhere"),
    both: async (c, text) => {
      await c.db.transaction(async (tx) => {
        await tx.execute("INSERT INTO notes (text) VALUES (?)", text);
        await tx.execute("INSERT INTO notes (text) VALUES (?)", `${text}!`);
      });
    },
    neither: async (c, text) => {
      await c.db.transaction(async (tx) => {
        await tx.execute("INSERT INTO notes (text) VALUES (?)", text);
        throw new Error("on second thought");
      });
    },
    sleep: (c) => c.sleep(),
  },
});

const keys = actor({
  actions: {
    put: (c, key, value) => c.kv.put(key, value),
    get: (c, key) => c.kv.get(key),
    drop: (c, key) => c.kv.delete(key),
    list: (c, prefix) => c.kv.list(prefix),
    sleep: (c) => c.sleep(),
  },
});

const order = actor({
  state: { log: [], tries: 0, paid: undefined },
  queues: { payment: queue(), unread: queue() },
  actions: { state: (c) => ({ ...c.state }), sleep: (c) => c.sleep() },
  run: workflow(async (ctx) => {
    await ctx.step("begin", async (c) => {
      c.state.log.push("begin");
    });
    await ctx.step({
      name: "flaky",
      maxRetries: 3,
      retryBackoffBase: 10,
      run: async (c) => {
        c.state.tries += 1;
        if (c.state.tries < 2) throw new Error("not yet");
      },
    });
    await ctx.sleep("pause", 50);
    const total = await ctx.loop({
      name: "count",
      state: { n: 0 },
      run: async (loop, state) => {
        await loop.step("tick", async (c) => {
          c.state.log.push(`tick ${state.n}`);
        });
        return state.n === 2 ? Loop.break(state.n) : Loop.continue({ n: state.n + 1 });
      },
    });
    const message = await ctx.queue.next("pay", { names: ["payment"] });
    await ctx.step("paid", async (c) => {
      c.state.paid = message.body.amount;
      c.state.log.push(`paid after ${total}`);
    });
  }),
});

const registry = setup({ use: { web, worker, timer, notes, keys, order }, noWelcome: true, startServices: false });
await registry.startAndWait();
process.send("ready");

process.on("message", async () => {
  process.disconnect();
  await registry.shutdown();
});
