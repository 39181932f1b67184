import { createRequire } from "node:module";
import { describe, expect, test } from "vitest";
import { greenroom, registryOf, temporaryFolder } from "./fixtures/greenroom";

// Through require, as the package itself loads them: one copy of each mapper.
const require = createRequire(import.meta.url);
const { eq, relations, sql } = require("drizzle-orm") as typeof import("drizzle-orm");
const { blob, integer, sqliteTable, text } =
  require("drizzle-orm/sqlite-core") as typeof import("drizzle-orm/sqlite-core");
const drizzle = require("../lib/db/drizzle.js") as typeof import("../lib/db/drizzle.js");
const kysely = require("../lib/db/kysely.js") as typeof import("../lib/db/kysely.js");

const { actor } = greenroom;

const authors = sqliteTable("author", {
  id: integer("id").primaryKey(),
  name: text("name").notNull().unique(),
  active: integer("active", { mode: "boolean" }).notNull().default(true),
  born: integer("born", { mode: "timestamp" }),
  picture: blob("picture", { mode: "buffer" }),
});
const books = sqliteTable("book", {
  id: integer("id").primaryKey(),
  author: integer("author").references(() => authors.id),
  tags: text("tags", { mode: "json" }).$type<string[]>(),
});
const schema = {
  authors,
  books,
  authorBooks: relations(authors, ({ many }) => ({ books: many(books) })),
  bookAuthor: relations(books, ({ one }) => ({
    author: one(authors, { fields: [books.author], references: [authors.id] }),
  })),
};

const FIRST =
  "create table author (id integer primary key, name text not null unique, active integer not null default 1, born integer, picture blob);\n" +
  "--> statement-breakpoint\n" +
  "create table book (id integer primary key, author integer references author(id), tags text);";
const journal = (...tags: string[]) => ({
  entries: tags.map((tag, idx) => ({ idx, when: 1000 + idx, tag, breakpoints: true })),
});
const migrations = { journal: journal("0000_first"), migrations: { m0000: FIRST } };

/** Runs `use` inside an action and hands on what it gives or throws. */
async function inside<T>(db: unknown, use: (db: any) => Promise<T>, dataDir = temporaryFolder()): Promise<T> {
  let outcome: { value: T } | { error: unknown } | undefined;
  const run = async (c: any) => {
    try {
      outcome = { value: await use(c.db) };
    } catch (error) {
      outcome = { error };
    }
  };
  const registry = registryOf({ subject: actor({ db, actions: { run } } as any) } as any, { dataDir });
  try {
    await (registry.client() as any).subject.getOrCreate("a").run();
  } finally {
    await registry.shutdown();
  }
  if (outcome === undefined) throw new Error("the action did not run");
  if ("error" in outcome) throw outcome.error;
  return outcome.value;
}

describe("drizzle", () => {
  const provider = drizzle.db({ schema, migrations });
  type Db = import("../lib/db/drizzle.js").DrizzleDatabase<typeof schema>;

  test("maps every kind of column there and back", () =>
    inside(provider, async (db: Db) => {
      const author = { id: 1, name: "A", active: false, born: new Date(1_000_000), picture: Buffer.from([0, 255]) };
      expect(await db.insert(authors).values(author).returning()).toEqual([author]);
      await db.insert(books).values({ author: 1, tags: ["a", "b"] });
      expect(await db.select().from(authors).where(eq(authors.id, 1)).get()).toEqual(author);
      expect(await db.select().from(authors).where(eq(authors.id, 2)).get()).toBe(undefined);
      expect(await db.values(sql`select 1, 'x'`)).toEqual([[1, "x"]]);
      expect(await db.query.authors.findFirst({ with: { books: true } })).toEqual({
        ...author,
        books: [{ id: 1, author: 1, tags: ["a", "b"] }],
      });
      expect(await db.execute("select count(*) as n from author")).toEqual([{ n: 1 }]);
    }));

  test("commits and rolls back, and does not nest", () =>
    inside(provider, async (db: Db) => {
      await db.transaction(async (tx) => {
        await tx.insert(authors).values({ name: "kept" });
        await expect(tx.transaction(async () => 0)).rejects.toMatchObject({ code: "transaction_active" });
      });
      const failed = db.transaction(async (tx) => {
        await tx.insert(authors).values({ name: "lost" });
        throw new Error("no");
      });
      await expect(failed).rejects.toThrow("no");
      expect((await db.select({ name: authors.name }).from(authors)).map(({ name }) => name)).toEqual(["kept"]);
    }));

  test("runs batches as one", () =>
    inside(provider, async (db: Db) => {
      const [, rows] = await db.batch([db.insert(authors).values({ id: 1, name: "a" }), db.select().from(authors)]);
      expect(rows).toMatchObject([{ id: 1, name: "a", active: true }]);
      const twice = db.batch([db.insert(authors).values({ name: "b" }), db.insert(authors).values({ name: "b" })]);
      await expect(twice).rejects.toThrow("UNIQUE constraint failed: author.name");
      expect(await db.$count(authors)).toBe(1);
    }));

  test("migrates each step once, over restarts", async () => {
    const dataDir = temporaryFolder();
    await inside(provider, async (db: Db) => void (await db.insert(authors).values({ name: "old" })), dataDir);
    const more = {
      journal: journal("0000_first", "0001_more"),
      migrations: { m0000: FIRST, m0001: "insert into author (name) values ('new')" },
    };
    for (let start = 0; start < 2; start++) {
      const names = await inside(
        drizzle.db({ schema, migrations: more }),
        (db: Db) => db.select({ name: authors.name }).from(authors).orderBy(authors.id),
        dataDir,
      );
      expect(names).toEqual([{ name: "old" }, { name: "new" }]);
    }
  });

  test("does not start on migrations that are incomplete, and keeps nothing of them", async () => {
    const dataDir = temporaryFolder();
    const broken = drizzle.db({
      migrations: { journal: journal("a", "b"), migrations: { m0000: "create table x (a)" } },
    });
    await expect(inside(broken, async () => 0, dataDir)).rejects.toBeDefined();
    const tables = await inside(
      greenroom.db(),
      (db) => db.query("select name from sqlite_master where name = 'x'"),
      dataDir,
    );
    expect(tables).toEqual([]);
  });
});

describe("kysely", () => {
  interface Tables {
    person: { id: number | null; name: string; data: Uint8Array | null };
  }
  const provider = kysely.db<Tables>({
    onMigrate: async (db) => {
      await db.schema
        .createTable("person")
        .ifNotExists()
        .addColumn("id", "integer", (column) => column.primaryKey())
        .addColumn("name", "text", (column) => column.notNull().unique())
        .addColumn("data", "blob")
        .execute();
    },
  });
  type Db = import("kysely").Kysely<Tables>;
  const person = (name: string) => ({ id: null, name, data: null });

  test("queries, inserts and updates", () =>
    inside(provider, async (db: Db) => {
      const data = new Uint8Array([0, 255]);
      const inserted = await db.insertInto("person").values({ id: 7, name: "a", data }).executeTakeFirstOrThrow();
      expect(inserted).toMatchObject({ insertId: 7n, numInsertedOrUpdatedRows: 1n });
      expect(await db.selectFrom("person").selectAll().execute()).toEqual([{ id: 7, name: "a", data }]);
      const updated = await db.updateTable("person").set({ name: "b" }).where("id", "=", 7).executeTakeFirst();
      expect(updated.numUpdatedRows).toBe(1n);
      const returned = await db.insertInto("person").values(person("c")).returning("id").execute();
      expect(returned).toEqual([{ id: 8 }]);
      expect((await db.introspection.getTables()).map(({ name }) => name)).toContain("person");
    }));

  test("commits and rolls back, with savepoints", () =>
    inside(provider, async (db: Db) => {
      await db.transaction().execute((tx) => tx.insertInto("person").values(person("kept")).execute());
      const failed = db.transaction().execute(async (tx) => {
        await tx.insertInto("person").values(person("lost")).execute();
        throw new Error("no");
      });
      await expect(failed).rejects.toThrow("no");
      const tx = await db.startTransaction().execute();
      const after = await tx.savepoint("here").execute();
      await after.insertInto("person").values(person("undone")).execute();
      await after.rollbackToSavepoint("here").execute();
      await tx.commit().execute();
      expect(await db.selectFrom("person").select("name").execute()).toEqual([{ name: "kept" }]);
    }));

  test("streams", () =>
    inside(provider, async (db: Db) => {
      const names = Array.from({ length: 1000 }, (_, at) => person(`p${at}`));
      await db.insertInto("person").values(names).execute();
      let count = 0;
      for await (const row of db.selectFrom("person").select("name").orderBy("id").stream(64)) {
        expect(row.name).toBe(`p${count++}`);
      }
      expect(count).toBe(1000);
    }));
});
