// The published package's own adapter for Drizzle, with a schema and migrations.

import { eq, sql } from "drizzle-orm";
import { blob, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { actor, setup } from "rivetkit";
import { db } from "rivetkit/db/drizzle";

const authors = sqliteTable("author", {
  id: integer("id").primaryKey(),
  name: text("name").notNull().unique(),
  active: integer("active", { mode: "boolean" }).notNull().default(true),
  born: integer("born", { mode: "timestamp" }),
  picture: blob("picture", { mode: "buffer" }),
  tags: text("tags", { mode: "json" }),
});

const FIRST =
  "create table author (id integer primary key, name text not null unique, active integer not null default 1, born integer);\n" +
  "--> statement-breakpoint\n" +
  "create index author_born on author (born);";
const SECOND = "alter table author add picture blob;\n--> statement-breakpoint\nalter table author add tags text;";
const steps = { m0000: FIRST, m0001: SECOND };
// As after a deployment that brings one more migration.
const count = Number(process.env.MIGRATIONS);
const entries = ["0000_first", "0001_second"].map((tag, idx) => ({ idx, when: 1000 + idx, tag, breakpoints: true }));
const migrations = { journal: { entries: entries.slice(0, count) }, migrations: steps };

const shop = actor({
  db: db({ schema: { authors }, migrations }),
  actions: {
    columns: async (c) => (await c.db.execute("select name from pragma_table_info('author')")).map(({ name }) => name),
    books: async (c) => (await c.db.execute("select count(*) as n from __drizzle_migrations"))[0].n,
    addPlain: (c, name) => c.db.execute("insert into author (name) values (?)", name).then(() => undefined),
    names: async (c) => (await c.db.execute("select name from author order by id")).map(({ name }) => name),
    crud: async (c) => {
      const born = new Date(1_000_000_000);
      const picture = Buffer.from([1, 0, 255]);
      const added = await c.db
        .insert(authors)
        .values({ name: "Ada", born, picture, tags: ["one", "two"] })
        .returning();
      await c.db.update(authors).set({ active: false }).where(eq(authors.name, "Ada"));
      const [row] = await c.db.select().from(authors).where(eq(authors.name, "Ada"));
      const [{ total }] = await c.db.select({ total: sql`count(*)` }).from(authors);
      await c.db.delete(authors).where(eq(authors.name, "Ada"));
      const { picture: bytes, ...rest } = row;
      return { added: added.length, ...rest, born: row.born.getTime(), picture: [...bytes], total };
    },
    transfer: async (c, fail) => {
      const outcome = await c.db
        .transaction(async (tx) => {
          await tx.insert(authors).values({ name: "in a transaction" });
          if (fail) throw new Error("taken back");
          return "kept";
        })
        .catch((error) => error.message);
      return [outcome, (await c.db.select().from(authors)).map(({ name }) => name)];
    },
    twice: async (c) => {
      await c.db.insert(authors).values({ name: "Ada" });
      return c.db
        .insert(authors)
        .values({ name: "Ada" })
        .then(
          () => "inserted",
          (error) => `${error.message} ${error.cause?.message ?? ""} ${JSON.stringify(error.cause?.metadata ?? null)}`,
        );
    },
  },
});

const registry = setup({ use: { shop }, noWelcome: true, startServices: false });
await registry.startAndWait();
process.send("ready");

process.on("message", async () => {
  process.disconnect();
  await registry.shutdown();
});
