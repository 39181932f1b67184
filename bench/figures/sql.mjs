// SQL of an actor's code, measured inside an action, beside better-sqlite3 on the
// same thread and beside rusqlite.

import { createRequire } from "node:module";
import { join } from "node:path";
import { actor, db, setup } from "greenroom";
import { installPackages } from "../../scripts/lib/steps.mjs";
import { loadNative } from "../lib/native.mjs";
import { temporaryFolder } from "../lib/processes.mjs";
import { rate } from "../lib/stats.mjs";

const ROWS = 10_000;
const SELECTS = 20_000;
const INSERTS = 500;
const BATCHES = 200;
const PER_BATCH = 100;

const SCHEMA = "create table if not exists item (id integer primary key, name text, amount real)";
const INSERT = "insert into item (name, amount) values (?, ?)";
const SELECT = "select id, name, amount from item where id = ?";
const rows = Array.from({ length: ROWS }, (_, index) => [`item ${index}`, index / 7]);

function betterSqlite(path) {
  const Database = createRequire(new URL("../parity/package.json", import.meta.url))("better-sqlite3");
  const database = new Database(path);
  database.pragma("journal_mode = WAL");
  database.pragma("synchronous = FULL");
  database.exec(SCHEMA);
  return database;
}

/** An actor that lends its database to the figure, for the length of a round. */
function lender() {
  const subject = actor({
    db: db({ onMigrate: async (tx) => void (await tx.execute(SCHEMA)) }),
    options: { noSleep: true, actionTimeout: 600_000 },
    actions: { lend: (c) => lent(c.db) },
  });
  let lent;
  const registry = setup({ use: { subject } });
  const handle = registry.client().subject.getOrCreate(["bench"]);
  return {
    /** Runs `use` inside an action and gives what it gives. */
    async lend(use) {
      let result;
      lent = async (database) => {
        result = await use(database);
      };
      await handle.lend();
      return result;
    },
    shutdown: () => registry.shutdown(),
  };
}

function figureOf({ round, ...facts }) {
  return {
    unit: "/s",
    ratio: "subject",
    ...facts,
    async prepare() {
      await installPackages("bench/parity");
      const folder = temporaryFolder("sql");
      process.env.GREENROOM_DATA_DIR = join(folder.path, "actors");
      const theirs = betterSqlite(join(folder.path, "better.db"));
      const state = { folder, theirs, ours: lender(), native: await loadNative() };
      theirs.transaction(() => {
        for (const row of rows) theirs.prepare(INSERT).run(...row);
      })();
      await state.ours.lend((database) => database.executeMany(INSERT, rows));
      return state;
    },
    round,
    async finish({ folder, theirs, ours }) {
      theirs.close();
      await ours.shutdown();
      folder.remove();
    },
  };
}

function select(name, inFlight, atLeast) {
  return figureOf({
    name,
    title: `Point select, ${inFlight} in flight`,
    baseline: "better-sqlite3 called through a promise",
    ...(atLeast !== undefined && { atLeast }),
    async round({ theirs, ours }) {
      const statement = theirs.prepare(SELECT);
      let id = 0;
      const next = () => (id++ % ROWS) + 1;
      return {
        baseline: await rate(async () => statement.get(next()), SELECTS, inFlight),
        subject: await ours.lend((database) => rate(() => database.get(SELECT, next()), SELECTS, inFlight)),
      };
    },
  });
}

const insert = figureOf({
  name: "sql-insert",
  title: "Insert, durable, one after the other",
  baseline: "bare rusqlite commit in a loop (WAL, FULL)",
  atLeast: 0.8,
  async round({ folder, ours, native }) {
    return {
      baseline: INSERTS / native.commitRows(join(folder.path, "bare.db"), INSERTS),
      subject: await ours.lend((database) => rate(() => database.run(INSERT, "x", 1.5), INSERTS, 1)),
    };
  },
});

function inserts(name, title, atLeast, insertAll) {
  return figureOf({
    name,
    title,
    baseline: "better-sqlite3 in one transaction",
    ...(atLeast !== undefined && { atLeast }),
    async round({ theirs, ours }) {
      const statement = theirs.prepare(INSERT);
      const all = theirs.transaction(() => {
        for (const [text, amount] of rows) statement.run(text, amount);
      });
      const timed = async (work) => {
        const since = performance.now();
        await work();
        return ROWS / ((performance.now() - since) / 1000);
      };
      return {
        baseline: await timed(all),
        subject: await ours.lend((database) => timed(() => database.transaction((tx) => insertAll(tx)))),
      };
    },
  });
}

const batch = figureOf({
  name: "sql-batch",
  title: `Batch of ${PER_BATCH} inserts in one call, durable`,
  baseline: "the same in bare rusqlite",
  atLeast: 0.8,
  warmUp: 2,
  async round({ folder, ours, native }) {
    const statements = Array.from({ length: PER_BATCH }, (_, index) => ({
      sql: INSERT,
      params: [`item ${index}`, 1.5],
    }));
    return {
      baseline: BATCHES / native.commitBatches(join(folder.path, "batches.db"), BATCHES, PER_BATCH),
      subject: await ours.lend((database) => rate(() => database.batch(statements), BATCHES, 1)),
    };
  },
});

export default [
  select("sql-select", 64, 0.5),
  select("sql-select-sequential", 1),
  insert,
  inserts("sql-inserts", `${ROWS.toLocaleString("en-US")} inserts in one transaction, in one call`, 0.5, (tx) =>
    tx.executeMany(INSERT, rows),
  ),
  inserts(
    "sql-inserts-single",
    `${ROWS.toLocaleString("en-US")} inserts in one transaction, a call each`,
    undefined,
    (tx) => Promise.all(rows.map((row) => tx.run(INSERT, ...row))),
  ),
  batch,
];
