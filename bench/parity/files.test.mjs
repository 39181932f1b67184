// An actor's files in the hands of another SQLite: what a shell would see.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
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
    },
    read: async (c) => [c.state.entries, (await c.db.query("select text from entry")).map(({ text }) => text)],
  },
});

function folder(t) {
  const path = mkdtempSync(join(tmpdir(), "greenroom-files-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

const registryIn = (dataDir) => setup({ use: { journal }, dataDir, logging: { level: "silent" } });

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

test("a backup opens elsewhere, and may be changed before it is imported", async (t) => {
  const dataDir = folder(t);
  const file = join(dataDir, "backup.sqlite");
  const registry = registryIn(dataDir);
  t.after(() => registry.shutdown());
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
  t.after(() => registry.shutdown());
  await registry.import("journal", "a", file);
  const handle = registry.client().journal.get("a");
  assert.deepEqual(await handle.read(), [0, ["from elsewhere"]]);
  await handle.write("here");
  assert.deepEqual(await handle.read(), [1, ["from elsewhere", "here"]]);
});
