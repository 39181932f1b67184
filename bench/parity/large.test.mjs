// A table of millions of rows (`GREENROOM_LARGE_ROWS`, default 300,000; the long form is
// 5,000,000) in an actor: filled, indexed, asked, walked through without being held, and
// written to meanwhile.

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import greenroom from "../../index.js";

const { actor, db, setup } = greenroom;

const ROWS = Number(process.env.GREENROOM_LARGE_ROWS ?? 300_000);
const PER_CALL = 10_000;
/** What the process may grow by, whatever the number of rows. */
const MEMORY = 200e6;

const now = () => performance.now();
const resident = () => process.memoryUsage().rss;

function logBytes(folder) {
  const logs = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".db-wal"));
  return Math.max(0, ...logs.map((name) => statSync(join(folder, name)).size));
}

async function fill(database) {
  for (let at = 0; at < ROWS; at += PER_CALL) {
    const rows = Array.from({ length: Math.min(PER_CALL, ROWS - at) }, (_, index) => [
      at + index + 1,
      `name ${(at + index) % 1000}`,
      (at + index) / 7,
    ]);
    await database.executeMany("insert into item values (?, ?, ?)", rows);
  }
}

/** Reads all rows while others are written; tells the longest write and the longest log. */
async function walk(c, dataDir) {
  const facts = { read: 0, sum: 0, written: 0, longest: 0, log: 0, memory: 0 };
  let done = false;
  const before = resident();
  const writing = (async () => {
    while (!done) {
      const since = now();
      await c.db.run("insert into note values (zeroblob(8000))");
      facts.longest = Math.max(facts.longest, now() - since);
      if (facts.written++ % 16 === 0) facts.log = Math.max(facts.log, logBytes(dataDir));
    }
  })();
  for await (const { id } of c.db.iterate("select id, name, amount from item order by id")) {
    facts.sum += id;
    if (++facts.read % 50_000 === 0) facts.memory = Math.max(facts.memory, resident() - before);
    if (facts.read === 1000) await c.db.run("delete from item where id % 10 = 0 and id < 100000");
  }
  done = true;
  await writing;
  return facts;
}

const holder = (dataDir) =>
  actor({
    db: db({
      onMigrate: async (tx) => {
        await tx.execute("create table if not exists item (id integer primary key, name text, amount real)");
        await tx.execute("create table if not exists note (body blob)");
      },
    }),
    options: { actionTimeout: 600_000 },
    actions: {
      fill: (c) => fill(c.db),
      index: (c) => c.db.with({ timeout: 300_000 }).execute("create index by_name on item (name, amount)"),
      plan: async (c) =>
        (await c.db.query("explain query plan select amount from item where name = 'name 7'"))[0].detail,
      find: async (c) => (await c.db.get("select count(*) as n from item where name = 'name 7'")).n,
      held: async (c) => {
        // All of it at once is more than an answer may be, or is all of it.
        const rows = await c.db.query("select * from item, (select 1 union select 2 union select 3)").catch((e) => e);
        return rows.code ?? rows.length;
      },
      walk: (c) => walk(c, dataDir),
      count: async (c) => (await c.db.get("select count(*) as n from item")).n,
      check: async (c) => (await c.db.with({ timeout: 300_000 }).get("pragma quick_check")).quick_check,
      nap: (c) => c.sleep(),
    },
  });

test(`a table of ${ROWS.toLocaleString("en-US")} rows is filled, indexed, read in little memory and written beside`, async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), "greenroom-large-"));
  const registry = setup({ use: { holder: holder(dataDir) }, dataDir, logging: { level: "silent" } });
  t.after(async () => {
    await registry.shutdown();
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 20 });
  });
  const handle = registry.client().holder.getOrCreate("a");
  const timed = async (what, work) => {
    const [since, before] = [now(), resident()];
    const result = await work();
    const memory = Math.max(0, resident() - before);
    t.diagnostic(`${what}: ${((now() - since) / 1000).toFixed(2)} s, ${(memory / 1e6).toFixed(0)} MB more`);
    return result;
  };
  const start = resident();
  await timed("filled", () => handle.fill());
  await timed("indexed", () => handle.index());
  assert.ok(resident() - start < MEMORY, `filling and indexing took ${(resident() - start) / 1e6} MB`);
  assert.match(await handle.plan(), /USING COVERING INDEX by_name/);
  assert.equal(await timed("found by index", () => handle.find()), ROWS / 1000);
  if (ROWS > 2_000_000) assert.equal(await handle.held(), "result_too_large");
  const facts = await timed("read while written", () => handle.walk());
  t.diagnostic(JSON.stringify(facts));
  assert.deepEqual([facts.read, facts.sum], [ROWS, (ROWS * (ROWS + 1)) / 2]);
  assert.ok(facts.memory < MEMORY, `reading took ${facts.memory / 1e6} MB`);
  assert.ok(facts.log < 64e6, `the log had ${facts.log / 1e6} MB`);
  assert.ok(facts.written > 10, "nothing was written meanwhile");
  const left = ROWS - Math.floor(Math.min(ROWS, 99_999) / 10);
  assert.equal(await handle.count(), left);
  await handle.nap();
  assert.equal(await timed("counted after a sleep", () => handle.count()), left);
  assert.equal(await timed("checked", () => handle.check()), "ok");
});
