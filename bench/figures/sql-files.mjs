// The files of databases: how long a write may stall while the log is folded in, and
// what a layout with auto_vacuum would cost.

import { closeSync, fdatasyncSync, openSync, readdirSync, statSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { actor, db, setup } from "greenroom";
import { installPackages } from "../../scripts/lib/steps.mjs";
import { temporaryFolder } from "../lib/processes.mjs";
import { figure } from "../lib/stats.mjs";

const WRITES = 3_000;
const BYTES = 8_000;
const READ_ROWS = 50_000;
const LOG = "create table if not exists log (id integer primary key, body blob)";
const FILL = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${READ_ROWS})
  insert into log (body) select 'row' from n`;
const WRITE = "insert into log (body) values (?)";

const ROWS = 20_000;
const PER_COMMIT = 200;

function open(path, settings = {}) {
  const Database = createRequire(new URL("../parity/package.json", import.meta.url))("better-sqlite3");
  const database = new Database(path);
  const all = { ...settings, journal_mode: "WAL", synchronous: "FULL", cache_size: -1024 };
  for (const [name, value] of Object.entries(all)) database.pragma(`${name} = ${value}`);
  return database;
}

/** The longest of many writes, in milliseconds. */
async function longest(write) {
  let most = 0;
  for (let at = 0; at < WRITES; at++) {
    const since = performance.now();
    await write();
    most = Math.max(most, performance.now() - since);
  }
  return most;
}

function logBytes(folder) {
  const logs = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".db-wal"));
  return Math.max(0, ...logs.map((name) => statSync(join(folder, name)).size));
}

const body = new Uint8Array(BYTES);
const writer = actor({
  db: db({ onMigrate: async (tx) => void (await tx.execute(LOG)) }),
  options: { noSleep: true, actionTimeout: 600_000 },
  actions: {
    fill: (c) => c.db.run(FILL),
    /** Writes while a result is open that was begun before the first write. */
    longest: async (c) => {
      const reading = c.db.iterate("select id, body from log")[Symbol.asyncIterator]();
      await reading.next();
      try {
        return await longest(() => c.db.run(WRITE, body));
      } finally {
        await reading.return?.();
      }
    },
  },
});

/** The same in better-sqlite3, where only a second connection may read on while the first writes. */
async function longestBeside(path, statement) {
  const reader = open(path);
  const reading = reader.prepare("select id, body from log").iterate();
  reading.next();
  try {
    return await longest(async () => statement.run(body));
  } finally {
    reading.return();
    reader.close();
  }
}

/** What the disk alone does: as many appends of a row, each synced. */
async function longestSync(path) {
  const file = openSync(path, "a");
  try {
    return await longest(async () => {
      writeSync(file, body);
      fdatasyncSync(file);
    });
  } finally {
    closeSync(file);
  }
}

const stall = {
  name: "sql-stall",
  title: `Longest of ${WRITES.toLocaleString("en-US")} durable writes of ${BYTES / 1000} kB while a result is read`,
  unit: "ms",
  baseline: "the same in better-sqlite3, one connection reading and one writing",
  ratio: "subject",

  async prepare() {
    await installPackages("bench/parity");
    const folder = temporaryFolder("stall");
    process.env.GREENROOM_DATA_DIR = join(folder.path, "actors");
    const registry = setup({ use: { writer } });
    const handle = registry.client().writer.getOrCreate(["bench"]);
    await handle.fill();
    const theirs = open(join(folder.path, "better.db"));
    theirs.exec(`${LOG}; ${FILL}`);
    return { folder, registry, handle, theirs };
  },

  async round({ folder, handle, theirs }) {
    const statement = theirs.prepare(WRITE);
    // What an earlier round left in the log is folded in by nobody's write.
    theirs.pragma("wal_checkpoint(TRUNCATE)");
    const alone = await longest(async () => statement.run(body));
    const baseline = await longestBeside(theirs.name, statement);
    const theirLog = statSync(`${theirs.name}-wal`).size;
    theirs.pragma("wal_checkpoint(TRUNCATE)");
    const subject = await handle.longest();
    const ourLog = logBytes(join(folder.path, "actors"));
    const sync = await longestSync(join(folder.path, "appended"));
    console.log(
      `    the log after ${figure((WRITES * BYTES) / 1e6)} MB of rows: ${figure(ourLog / 1e6)} MB, theirs ${figure(theirLog / 1e6)} MB; ` +
        `longest of theirs with nothing being read ${figure(alone)} ms, of as many bare syncs ${figure(sync)} ms`,
    );
    return { baseline, subject };
  },

  async finish({ folder, registry, theirs }) {
    theirs.close();
    await registry.shutdown();
    folder.remove();
  },
};

/** Fills a table, empties nine tenths of it, and tells seconds and the sizes of the file. */
function fillAndEmpty(path, layout) {
  const database = open(path, { auto_vacuum: layout });
  database.exec(
    "create table item (id integer primary key, name text, body blob); create index by_name on item (name)",
  );
  const insert = database.prepare("insert into item (name, body) values (?, randomblob(300))");
  const remove = database.prepare("delete from item where id = ?");
  const inCommits = (count, once) => {
    for (let at = 0; at < count; at += PER_COMMIT) {
      database.transaction(() => {
        for (let number = at; number < at + PER_COMMIT; number++) once(number);
      })();
    }
  };
  // A step that shares no factor with the number of rows goes everywhere once.
  const scattered = (number) => ((number * 7_919) % ROWS) + 1;
  const sizes = [];
  const note = () => {
    database.pragma("wal_checkpoint(TRUNCATE)");
    sizes.push(statSync(path).size / 1e6);
  };
  const since = performance.now();
  inCommits(ROWS, (number) => insert.run(`item ${scattered(number)}`));
  inCommits(ROWS * 0.9, (number) => remove.run(scattered(number)));
  const seconds = (performance.now() - since) / 1000;
  note();
  database.exec("vacuum");
  note();
  database.close();
  return { seconds, sizes: sizes.map((size) => `${figure(size)} MB`) };
}

const layout = {
  name: "sql-layout",
  title: `${ROWS.toLocaleString("en-US")} rows inserted and nine tenths deleted, without auto_vacuum`,
  unit: "s",
  baseline: "the same SQLite with `auto_vacuum = FULL`",
  ratio: "subject",

  async prepare() {
    await installPackages("bench/parity");
    return { folder: temporaryFolder("layout"), round: 0 };
  },

  async round(state) {
    const run = (kind) => {
      const { seconds, sizes } = fillAndEmpty(join(state.folder.path, `${kind}-${state.round}.db`), kind);
      console.log(`    ${kind}: ${sizes[0]} after the deletes, ${sizes[1]} after VACUUM`);
      return seconds;
    };
    state.round++;
    return { baseline: run("FULL"), subject: run("NONE") };
  },

  finish: ({ folder }) => folder.remove(),
};

export default [stall, layout];
