// The program that the interchange runs on either addon, unchanged: one actor per
// kind of data that an actor stores.

import { actor, queue, setup } from "rivetkit";
import { db } from "rivetkit/db";
import { workflow } from "rivetkit/workflow";

/** What the test calls the addon that this process runs on. */
const SIDE = process.env.INTERCHANGE_SIDE;

/** Whatever CBOR and the package can keep, made anew from a number. */
const values = (n) => ({
  integer: n,
  negative: -n - 1,
  fraction: n + 0.25,
  large: 2 ** 53 - 1 - n,
  bigint: 2n ** 60n + BigInt(n),
  text: `täxt ${n} 🎭`,
  long: "x".repeat(100_000 + n),
  yes: true,
  nothing: null,
  absent: undefined,
  infinite: Number.POSITIVE_INFINITY,
  date: new Date(1_700_000_000_000 + n),
  bytes: new Uint8Array([n, 0, 255]),
  map: new Map([["n", n]]),
  set: new Set([n, "n"]),
  nested: { list: [[n], { deep: { n } }, []], empty: {} },
});

/** Names a value, its type included, so that two of them can be held against each other. */
function describe(value) {
  if (typeof value === "bigint") return `bigint ${value}`;
  if (typeof value === "string") return value.length > 100 ? `text of ${value.length}` : JSON.stringify(value);
  if (value instanceof Uint8Array) return `bytes ${[...value]}`;
  if (value instanceof Date) return `date ${value.toISOString()}`;
  if (value instanceof Map) return `map ${describe([...value])}`;
  if (value instanceof Set) return `set ${describe([...value])}`;
  if (Array.isArray(value)) return `[${value.map(describe).join("; ")}]`;
  if (typeof value !== "object" || value === null) return String(value);
  return `{${Object.keys(value)
    .sort()
    .map((key) => `${key}: ${describe(value[key])}`)
    .join("; ")}}`;
}

const state = actor({
  createState: (_c, input) => ({ input, created: 1, entries: {} }),
  onCreate: async (c) => {
    c.state.created += 1;
  },
  actions: {
    write: async (c, n) => {
      c.state.entries[`entry ${n}`] = values(n);
      await c.saveState({ immediate: true });
    },
    kept: (c) => {
      const { input, created, entries } = c.state;
      return { input: describe(input), created, entries: Object.values(entries).map(describe), key: c.key };
    },
    expected: (_c, count) => Array.from({ length: count }, (_, n) => describe(values(n))),
  },
});

const tables = actor({
  db: db({
    onMigrate: async (database) => {
      for (const statement of [
        `CREATE TABLE IF NOT EXISTS entry (
          id INTEGER PRIMARY KEY AUTOINCREMENT, n INTEGER NOT NULL UNIQUE, text TEXT, real REAL, data BLOB, big INTEGER)`,
        "CREATE INDEX IF NOT EXISTS entry_text ON entry (text, n DESC) WHERE text IS NOT NULL",
        "CREATE TABLE IF NOT EXISTS tally (name TEXT PRIMARY KEY, count INTEGER) STRICT, WITHOUT ROWID",
        `CREATE TRIGGER IF NOT EXISTS counted AFTER INSERT ON entry BEGIN
          INSERT INTO tally VALUES ('entries', 1) ON CONFLICT DO UPDATE SET count = count + 1; END`,
        "CREATE VIEW IF NOT EXISTS shout AS SELECT n, upper(text) AS text FROM entry",
        "CREATE TABLE IF NOT EXISTS page (n INTEGER, data BLOB)",
      ])
        await database.execute(statement);
    },
  }),
  actions: {
    write: async (c, n) => {
      const bytes = new Uint8Array([n, 0, 255]);
      await c.db.execute(
        "INSERT INTO entry (n, text, real, data, big) VALUES (?, ?, ?, ?, 9007199254740993 + ?)",
        ...[n, `täxt ${n}`, n + 0.5, bytes, n],
      );
      await c.db.transaction(async (tx) => {
        for (let at = 0; at < 40; at++) await tx.execute("INSERT INTO page VALUES (?, randomblob(20000))", n);
        await tx.execute("DELETE FROM page WHERE n = ? AND rowid % 2 = 0", n);
      });
    },
    kept: async (c) => {
      const rows = (sql) => c.db.execute(sql);
      return {
        entries: (await rows("SELECT id, n, text, real, data, big FROM entry ORDER BY id")).map((row) =>
          describe({ ...row, data: new Uint8Array(row.data) }),
        ),
        shouts: (await rows("SELECT text FROM shout ORDER BY n")).map(({ text }) => text),
        counted: (await rows("SELECT count FROM tally"))[0].count,
        pages: await rows("SELECT n, count(*) AS count, sum(length(data)) AS bytes FROM page GROUP BY n ORDER BY n"),
        check: await rows("PRAGMA integrity_check"),
        schema: (await rows("SELECT type, name FROM sqlite_schema WHERE tbl_name NOT GLOB '_[rg]*' ORDER BY name"))
          .map(({ type, name }) => `${type} ${name}`)
          .filter((name) => !name.includes("sqlite_")),
      };
    },
    expected: (_c, count) =>
      Array.from({ length: count }, (_, n) =>
        describe({
          ...{ id: n + 1, n, text: `täxt ${n}`, real: n + 0.5, data: new Uint8Array([n, 0, 255]) },
          big: 9007199254740993n + BigInt(n),
        }),
      ),
  },
});

const keys = actor({
  actions: {
    write: async (c, n) => {
      await c.kv.put(`kept ${n}`, `value ${n}`);
      await c.kv.put("last", `${n}`);
      await c.kv.put(new Uint8Array([7, n, 0, 255]), new Uint8Array([n, 0]), { type: "binary" });
      await c.kv.put(`many ${n} a`, "a");
      await c.kv.put(`many ${n} b`, "b");
      await c.kv.delete(`many ${n} a`);
      // What another process wrote goes as well.
      if (n > 0) await c.kv.delete(`many ${n - 1} b`);
    },
    kept: async (c, count) => ({
      kept: await c.kv.list("kept"),
      many: await c.kv.list("many"),
      last: await c.kv.get("last"),
      binary: await Promise.all(
        Array.from({ length: count }, async (_, n) => [
          ...(await c.kv.get(new Uint8Array([7, n, 0, 255]), { type: "binary" })),
        ]),
      ),
    }),
  },
});

const mailbox = actor({
  queues: { letters: queue(), parcels: queue(), jobs: queue() },
  actions: {
    take: async (c, name) => {
      const messages = await c.queue.nextBatch({ names: [name], count: 100, timeout: 0 });
      return messages.map(({ body }) => body);
    },
    post: async (c, name, body) => {
      await c.queue.send(name, body);
    },
    /** Takes the next job and lets go of it without an answer. */
    begin: async (c) => {
      const [job] = await c.queue.nextBatch({ names: ["jobs"], completable: true, timeout: 0 });
      return job?.body;
    },
    finish: async (c) => {
      const [job] = await c.queue.nextBatch({ names: ["jobs"], completable: true, timeout: 0 });
      await job?.complete({ by: SIDE });
      return job?.body;
    },
  },
});

const clock = actor({
  state: { fired: [] },
  actions: {
    after: (c, delay, ...args) => c.schedule.after(delay, "fire", ...args),
    at: (c, time, ...args) => c.schedule.at(time, "fire", ...args),
    every: (c, name, ...args) => c.cron.every({ name, interval: 5_000, action: "fire", args }),
    daily: (c, name, ...args) =>
      c.cron.set({ name, expression: "30 4 * * 1", timezone: "Europe/Berlin", action: "fire", args, maxHistory: 7 }),
    cancel: (c, id) => c.schedule.cancel(id),
    drop: (c, name) => c.cron.delete(name),
    fire: async (c, ...args) => {
      c.state.fired.push([SIDE, ...args]);
      await c.saveState({ immediate: true });
    },
    fired: (c) => c.state.fired,
    list: async (c) => (await c.schedule.list()).map(({ id, action, args, runAt }) => ({ id, action, args, runAt })),
    jobs: (c) => c.cron.list(),
    history: (c, name) => c.cron.history(name),
  },
});

const flow = actor({
  state: { log: [] },
  queues: { go: queue() },
  actions: { log: (c) => c.state.log },
  run: workflow(async (ctx) => {
    const note = (name) =>
      ctx.step(name, async (c) => {
        c.state.log.push([SIDE, name]);
        return { name, data: new Uint8Array([1, 2]) };
      });
    const first = await note("begun");
    for (let n = 0; n < 4; n++) {
      const message = await ctx.queue.next(`wait ${n}`, { names: ["go"] });
      await ctx.sleep(`nap ${n}`, 50);
      await note(`round ${message.body} after ${first.name} ${first.data.length}`);
    }
  }),
});

/** Knows its guests by what each of them said. */
const room = actor({
  createConnState: (_c, params) => ({ name: params?.name, said: 0 }),
  state: { said: 0 },
  actions: {
    say: async (c) => {
      c.conn.state.said += 1;
      c.state.said += 1;
      await c.saveState({ immediate: true });
      c.broadcast("said", SIDE, c.state.said);
      return { ...c.conn.state, id: c.conn.id, all: c.state.said, guests: c.conns.size };
    },
    total: (c) => c.state.said,
  },
});

const use = { state, tables, keys, mailbox, clock, flow, room };
const registry = setup({ use, noWelcome: true, startServices: false });
await registry.startAndWait();
process.send("ready");

process.on("message", async () => {
  await registry.shutdown();
  process.exit();
});
// A test runner that dies takes its programs with it.
process.on("disconnect", () => process.exit(1));
