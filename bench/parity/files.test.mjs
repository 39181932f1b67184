// An actor's files in the hands of another SQLite: what a shell would see.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import Database from "better-sqlite3";
import greenroom from "../../index.js";

const { actor, db, setup } = greenroom;

const journal = actor({
  state: { entries: 0 },
  db: db({ onMigrate: async (tx) => void (await tx.execute("create table if not exists entry (text)")) }),
  actions: {
    write: async (c, text) => {
      await c.db.run`insert into entry values (${text})`;
      c.state.entries++;
      await c.saveState({ immediate: true });
    },
    read: async (c) => [c.state.entries, (await c.db.query("select text from entry")).map(({ text }) => text)],
  },
});

const napper = actor({ ...journal.config, options: { sleepTimeout: 50 } });

/** Runs SQL in the `sqlite3` shell; without one, in another SQLite. */
function shell(file, sql) {
  try {
    return execFileSync("sqlite3", ["-noheader", file, sql], { encoding: "utf8", stdio: "pipe" }).trim();
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
  }
  const database = new Database(file, { timeout: 0 });
  try {
    const statement = database.prepare(sql);
    if (!statement.reader) return statement.run() && "";
    return statement.raw().all().join("\n");
  } finally {
    database.close();
  }
}

/** The file belongs to its actor while that is awake: asks until it is let go of. */
async function shellOnceAsleep(file, sql) {
  for (let turn = 0; ; turn++) {
    try {
      return shell(file, sql);
    } catch (error) {
      if (turn === 300 || !/locked|busy/i.test(`${error.stderr ?? ""}${error.message}`)) throw error;
      await delay(50);
    }
  }
}

/** The registries on each folder of a test. */
const registries = new Map();

function folder(t) {
  const path = mkdtempSync(join(tmpdir(), "greenroom-files-"));
  const open = [];
  registries.set(path, open);
  // One after the other: a registry that lives makes folders of its own.
  t.after(async () => {
    for (const registry of open) await registry.shutdown();
    rmSync(path, { recursive: true, force: true, maxRetries: 20 });
  });
  return path;
}

function registryIn(dataDir, use = { journal }) {
  const registry = setup({ use, dataDir, logging: { level: "silent" } });
  registries.get(dataDir).push(registry);
  return registry;
}

const texts = (file) => {
  const database = new Database(file);
  try {
    assert.equal(database.pragma("integrity_check", { simple: true }), "ok");
    return database.prepare("select text from entry order by rowid").pluck().all();
  } finally {
    database.close();
  }
};

test("the file of a sleeping actor, its log included, opens elsewhere and back", async (t) => {
  const dataDir = folder(t);
  const first = registryIn(dataDir);
  const handle = first.client().journal.getOrCreate("a");
  await handle.write("one");
  await handle.write("two");
  const id = await handle.resolve();
  await first.shutdown();
  const file = join(dataDir, "actors", id.slice(0, 2), `${id}.db`);
  assert.deepEqual(texts(file), ["one", "two"]);
  const shell = new Database(file);
  shell.prepare("insert into entry values ('by hand')").run();
  shell.close();
  const second = registryIn(dataDir);
  assert.deepEqual(await second.client().journal.get("a").read(), [2, ["one", "two", "by hand"]]);
  await second.shutdown();
});

test("the shell reads and writes the file of an actor that sleeps, and it wakes with what was written", async (t) => {
  const dataDir = folder(t);
  const registry = registryIn(dataDir, { napper });
  const handle = registry.client().napper.getOrCreate("a");
  await handle.write("one");
  const id = await handle.resolve();
  const file = join(dataDir, "actors", id.slice(0, 2), `${id}.db`);
  assert.equal(await shellOnceAsleep(file, "select text from entry"), "one");
  assert.equal(await shellOnceAsleep(file, "pragma integrity_check"), "ok");
  await shellOnceAsleep(file, "insert into entry values ('by shell')");
  assert.deepEqual(await handle.read(), [1, ["one", "by shell"]]);
});

test("a file as RivetKit leaves it, with a rollback journal and its tables alone, is an actor with its state", async (t) => {
  const dataDir = folder(t);
  const file = join(dataDir, "theirs.sqlite");
  const registry = registryIn(dataDir);
  const before = registry.client().journal.getOrCreate("a");
  await before.write("one");
  await before.write("two");
  await registry.export("journal", "a", file);
  const theirs = new Database(file);
  const names = theirs
    .prepare("select name from sqlite_schema where name like '\\_greenroom%' escape '\\'")
    .pluck()
    .all();
  assert.deepEqual(names, []);
  theirs.pragma("journal_mode = DELETE");
  theirs.exec("vacuum");
  theirs.close();
  await registry.import("journal", "b", file);
  assert.deepEqual(await registry.client().journal.get("b").read(), [2, ["one", "two"]]);
  await registry.client().journal.get("b").write("three");
  assert.deepEqual(await registry.client().journal.get("b").read(), [3, ["one", "two", "three"]]);
});

test("a backup opens elsewhere, and may be changed before it is imported", async (t) => {
  const dataDir = folder(t);
  const file = join(dataDir, "backup.sqlite");
  const registry = registryIn(dataDir);
  await registry.client().journal.getOrCreate("a").write("one");
  await registry.export("journal", "a", file);
  assert.deepEqual(texts(file), ["one"]);
  const shell = new Database(file);
  shell.pragma("journal_mode = WAL");
  shell.prepare("update entry set text = 'changed'").run();
  shell.close();
  await registry.import("journal", "b", file);
  assert.deepEqual((await registry.client().journal.get("b").read())[1], ["changed"]);
});

test("a plain SQLite file becomes a new actor with its tables", async (t) => {
  const dataDir = folder(t);
  const file = join(dataDir, "plain.sqlite");
  const plain = new Database(file);
  plain.exec("create table entry (text); insert into entry values ('from elsewhere')");
  plain.close();
  const registry = registryIn(dataDir);
  await registry.import("journal", "a", file);
  const handle = registry.client().journal.get("a");
  assert.deepEqual(await handle.read(), [0, ["from elsewhere"]]);
  await handle.write("here");
  assert.deepEqual(await handle.read(), [1, ["from elsewhere", "here"]]);
});
