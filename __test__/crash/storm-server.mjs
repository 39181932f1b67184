// The process that the storm kills: actors that keep a book of what they did, in
// their state and in two tables that must agree.

import { actor, db, setup, UserError } from "greenroom";

/** Tells the storm that something worth a kill is going on. */
const mark = (what) => process.connected && process.send({ mark: what });

const book = db({
  // Several statements, so that a kill finds it half done.
  onMigrate: async (tx) => {
    mark("migrating");
    await tx.execute("create table if not exists debit (id integer primary key, pad blob)");
    await tx.execute("create table if not exists credit (id integer primary key, pad blob)");
    await tx.execute("create index if not exists credit_size on credit (length(pad))");
  },
});

const write = async (tx, id, size) => {
  await tx.run("insert into debit (id, pad) values (?, zeroblob(?))", id, size);
  await tx.run("insert into credit (id, pad) values (?, zeroblob(?))", id, size);
};

const ids = async (c, table) => (await c.db.query(`select id from ${table} order by id`)).map((row) => row.id);

/** The newest generation of each actor of this process. */
const newest = new Map();

const keeper = (options) =>
  actor({
    state: { done: [], pad: "" },
    db: book,
    options,
    createVars: (c) => {
      mark("starting");
      const before = newest.get(c.actorId);
      if (before !== undefined && !before.aborted) process.send({ violation: `two generations of ${c.actorId} live` });
      newest.set(c.actorId, c);
      return {};
    },
    onSleep: () => void mark("sleeping"),
    actions: {
      save: async (c, id, size) => {
        c.state.done.push(id);
        c.state.pad = "x".repeat(size);
        if (options.durability !== "reply") await c.saveState({ immediate: true });
      },
      rows: (c, id, size) => c.db.transaction((tx) => write(tx, id, size)),
      both: (c, id, size) =>
        c.db.transaction(
          async (tx) => {
            await write(tx, id, size);
            c.state.done.push(id);
          },
          { includeState: true },
        ),
      fail: (c, id, size) =>
        c.db.transaction(async (tx) => {
          await write(tx, id, size);
          throw new UserError("as planned", { code: "planned" });
        }),
      nap: (c) => c.sleep(),
      report: async (c) => ({
        actorId: c.actorId,
        done: [...c.state.done],
        debit: await ids(c, "debit"),
        credit: await ids(c, "credit"),
      }),
    },
  });

const registry = setup({
  use: { keeper: keeper({ sleepTimeout: 40 }), replier: keeper({ sleepTimeout: 40, durability: "reply" }) },
  logging: { level: "silent" },
});
const { url } = await registry.listen({ port: 0, host: "127.0.0.1", dataDir: process.argv[2] });
// A test runner that dies takes the server with it.
process.on("disconnect", () => process.exit(1));
process.send({ url });
