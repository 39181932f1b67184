import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { event, greenroom, registryOf, temporaryFolder } from "./fixtures/greenroom";

const { actor, db } = greenroom;

const journal = (hold?: { entered: () => void; leave: Promise<void> }) =>
  actor({
    state: { entries: 0 },
    db: db({ onMigrate: async (tx) => void (await tx.execute("create table if not exists entry (text)")) }),
    actions: {
      write: async (c, text: string) => {
        await c.db.run`insert into entry values (${text})`;
        c.state.entries++;
        await c.saveState({ immediate: true });
      },
      read: async (c) => [c.state.entries, (await c.db.query("select text from entry")).map(({ text }) => text)],
      hold: (c) =>
        c.db.transaction(async (tx) => {
          await tx.run("insert into entry values ('held')");
          hold?.entered();
          await hold?.leave;
          throw new Error("taken back");
        }),
    },
  });

describe("a backup", () => {
  test("of a live actor brings state and rows back, also over newer ones", async () => {
    const file = join(temporaryFolder(), "a.sqlite");
    const registry = registryOf({ journal: journal() });
    const handle = registry.client().journal.getOrCreate("a");
    await handle.write("one");
    const id = await handle.resolve();
    await registry.backup(id, file);
    await handle.write("two");
    expect(await handle.read()).toEqual([2, ["one", "two"]]);
    await registry.restore(id, file);
    expect(await handle.read()).toEqual([1, ["one"]]);
    await handle.write("three");
    expect(await handle.read()).toEqual([2, ["one", "three"]]);
  });

  test("is one file that needs no log, and becomes an actor of its own anywhere", async () => {
    const file = join(temporaryFolder(), "a.sqlite");
    const first = registryOf({ journal: journal() });
    await first.client().journal.getOrCreate("a").write("one");
    await first.export("journal", "a", file);
    expect([existsSync(`${file}-wal`), existsSync(`${file}-journal`)]).toEqual([false, false]);
    // Bytes 18 and 19 tell how a file is journalled; 1 means: no write-ahead log.
    expect([...readFileSync(file).subarray(18, 20)]).toEqual([1, 1]);
    const second = registryOf({ journal: journal() });
    const id = await second.import("journal", ["b"], file);
    const handle = second.client().journal.get("b");
    expect([await handle.resolve(), await handle.read()]).toEqual([id, [1, ["one"]]]);
    await expect(second.import("journal", "b", file)).rejects.toMatchObject({ code: "duplicate_key" });
  });

  test("holds nothing of a transaction that is open, and waits for its end", async () => {
    const file = join(temporaryFolder(), "a.sqlite");
    const [entered, leave] = [event(), event()];
    const registry = registryOf({ journal: journal({ entered: entered.happen, leave: leave.promise }) });
    const handle = registry.client().journal.getOrCreate("a");
    await handle.write("one");
    const held = handle.hold();
    held.catch(() => {});
    await entered.promise;
    let done = false;
    const backup = registry.backup(await handle.resolve(), file).then(() => (done = true));
    await handle.resolve();
    expect(done).toBe(false);
    leave.happen();
    await backup;
    await expect(held).rejects.toBeDefined();
    await registry.import("journal", "b", file);
    expect(await registry.client().journal.get("b").read()).toEqual([1, ["one"]]);
  });

  test("overwrites no file, and takes in none that is not sound", async () => {
    const folder = temporaryFolder();
    const registry = registryOf({ journal: journal() });
    const handle = registry.client().journal.getOrCreate("a");
    await handle.write("one");
    const id = await handle.resolve();
    const invalid = { group: "napi", code: "invalid_argument" };
    const garbage = join(folder, "garbage");
    writeFileSync(garbage, "not a database".repeat(1000));
    await expect(registry.backup(id, garbage)).rejects.toMatchObject(invalid);
    await expect(registry.restore(id, garbage)).rejects.toMatchObject(invalid);
    await expect(registry.restore(id, join(folder, "missing"))).rejects.toMatchObject(invalid);
    await expect(registry.import("journal", "b", garbage)).rejects.toMatchObject(invalid);
    // An empty file is a database to SQLite; to whoever restores it, it is a copy that failed.
    const empty = join(folder, "empty");
    writeFileSync(empty, "");
    await expect(registry.restore(id, empty)).rejects.toMatchObject(invalid);
    await expect(registry.import("journal", "b", empty)).rejects.toMatchObject(invalid);
    await expect(registry.client().journal.get("b").read()).rejects.toMatchObject({ code: "not_found" });
    // One page of a good backup is damaged.
    const damaged = join(folder, "damaged");
    await registry.backup(id, damaged);
    const bytes = readFileSync(damaged);
    bytes.fill(0xff, 4096, 8192);
    writeFileSync(damaged, bytes);
    await expect(registry.restore(id, damaged)).rejects.toMatchObject(invalid);
    expect(await handle.read()).toEqual([1, ["one"]]);
  });
});

describe("a damaged file", () => {
  test("fails its own actor, by name, and no other; a backup heals it", async () => {
    const dataDir = temporaryFolder();
    const file = join(temporaryFolder(), "a.sqlite");
    const first = registryOf({ journal: journal() }, { dataDir });
    for (const key of ["a", "b"]) await first.client().journal.getOrCreate(key).write("x".repeat(100_000));
    const id = await first.client().journal.get("a").resolve();
    await first.backup(id, file);
    await first.shutdown();
    const path = join(dataDir, "actors", ...pathOf(id));
    writeFileSync(path, Buffer.alloc(20_000, 7));
    const second = registryOf({ journal: journal() }, { dataDir });
    const { journal: journals } = second.client();
    await expect(journals.get("a").read()).rejects.toBeDefined();
    expect((await journals.get("b").read())[0]).toBe(1);
    await second.restore(id, file);
    expect((await journals.get("a").read())[0]).toBe(1);
  });
});

/** Folder and name of an actor's file below `actors`. */
function pathOf(id: string): string[] {
  const name = `${id}.db`;

  return [id.slice(0, 2), name];
}
