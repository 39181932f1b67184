// The two sides: better-sqlite3, and an actor's database. Both answer in the same
// form: rows as arrays of cells, or the text and the code of SQLite's error.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import greenroom from "../../index.js";

export function reference() {
  const database = new Database(":memory:");
  database.defaultSafeIntegers(true);
  return {
    run({ sql, params }) {
      try {
        const statement = database.prepare(sql);
        const bound = params.map((value) => (value instanceof Uint8Array ? Buffer.from(value) : value));
        if (statement.reader) {
          const columns = statement.columns().map(({ name }) => name);
          return {
            columns,
            rows: statement
              .raw(true)
              .all(...bound)
              .map((row) => row.map(plain)),
          };
        }
        const { changes, lastInsertRowid } = statement.run(...bound);
        return { columns: [], rows: [], changes, lastInsertRowId: plain(lastInsertRowid) };
      } catch (error) {
        return { code: error.code, message: error.message };
      }
    },
    close: () => database.close(),
  };
}

/** Integers that a number holds are numbers, as on our side. */
function plain(value) {
  if (typeof value === "bigint" && value >= -(2n ** 53n) + 1n && value <= 2n ** 53n - 1n) return Number(value);
  return value instanceof Uint8Array ? new Uint8Array(value) : value;
}

/** Runs `use` inside an actor, with a function that runs a statement. */
export async function inActor(use) {
  const dataDir = mkdtempSync(join(tmpdir(), "greenroom-parity-"));
  const provider = {
    createClient: (ctx) => ctx.nativeDatabaseProvider.open(ctx.actorId),
    onMigrate() {},
  };
  let failure;
  const subject = greenroom.actor({
    db: provider,
    options: { actionTimeout: 600_000 },
    actions: {
      use: (c) =>
        use((statement) => execute(c.db, statement)).catch((error) => {
          failure = error;
        }),
    },
  });
  const registry = greenroom.setup({ use: { subject }, dataDir, logging: { level: "silent" } });
  try {
    await registry.client().subject.getOrCreate("parity").use();
  } finally {
    await registry.shutdown();
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 20 });
  }
  if (failure !== undefined) throw failure;
}

async function execute(database, { sql, params }) {
  try {
    const { columns, rows, changes, lastInsertRowId } = await database.execute(sql, params);
    return columns.length > 0 ? { columns, rows } : { columns, rows, changes, lastInsertRowId };
  } catch (error) {
    const message = error.message.replace(/^failed to \w+ sqlite execute statement: /, "");
    return { code: error.metadata?.sqlite?.code ?? `${error.group}/${error.code}`, message };
  }
}
