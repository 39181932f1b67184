// The same generated statements through better-sqlite3 and through an actor:
// identical rows, types, counts and errors. `GREENROOM_PARITY_SEED` and
// `GREENROOM_PARITY_COUNT` (default 4,000) choose others.

import assert from "node:assert/strict";
import test from "node:test";
import { DUMPS, SETUP, statements } from "./generate.mjs";
import { inActor, reference } from "./sides.mjs";

const SEED = Number(process.env.GREENROOM_PARITY_SEED ?? 20_260_101);
const COUNT = Number(process.env.GREENROOM_PARITY_COUNT ?? 4000);
/** Statements between two comparisons of everything that is stored. */
const DUMP_EVERY = 100;

const isWrite = (sql) => /^(insert|update|delete)/.test(sql);

/**
 * Versions of SQLite differ in the digits of a real beyond the 15th, when they
 * write it as text, and when that is read again. What is stored as a real must be exact.
 */
function rounded(cell) {
  if (typeof cell === "number" && Math.abs(cell) > 2 ** 53) return Number(cell.toPrecision(12));
  if (cell instanceof Uint8Array) {
    const text = Buffer.from(cell).toString("latin1");
    const same = rounded(text);
    return same === text ? cell : same;
  }
  if (typeof cell !== "string") return cell;
  return cell.replace(/\d+\.\d{9,}(e[+-]?\d+)?/g, (digits) => Number(digits).toPrecision(12));
}

/** Of what is stored only text, where a real was made into it: the reals are exact. */
const roundedText = (cell) => (typeof cell === "string" ? rounded(cell) : cell);

/** What must be the same: for statements that count nothing, no counts. */
function facts({ sql }, { columns, rows, changes, lastInsertRowId, code, message }) {
  if (code !== undefined) return { code, message };
  if (columns.length > 0 || !isWrite(sql))
    return { columns, rows: rows.map((row) => row.map(DUMPS.includes(sql) ? roundedText : rounded)) };
  // A table without rowids leaves that of an earlier insert, and full-text search
  // one of its own tables, which one depends on the version.
  const hasRowid = /^insert [\w ]*into (plain|strict_one|child|words)\b/.test(sql);
  return { changes, ...(hasRowid && changes > 0 && { lastInsertRowId }) };
}

test(`${COUNT} statements mean the same as in better-sqlite3 (seed ${SEED})`, async (t) => {
  const theirs = reference();
  const seen = { rows: 0, errors: 0 };
  try {
    await inActor(async (run) => {
      const compare = async (statement, at) => {
        const expected = facts(statement, theirs.run(statement));
        const actual = facts(statement, await run(statement));
        assert.deepEqual(actual, expected, `statement ${at}: ${statement.sql} with ${inspect(statement.params)}`);
        if (expected.code === undefined) seen.rows += expected.rows?.length ?? 0;
        else seen.errors++;
      };
      for (const sql of SETUP) await compare({ sql, params: [] }, "of the setup");
      let at = 0;
      for (const statement of statements(SEED, COUNT)) {
        await compare(statement, at);
        if (++at % DUMP_EVERY === 0) for (const sql of DUMPS) await compare({ sql, params: [] }, `after ${at}`);
      }
    });
  } finally {
    theirs.close();
  }
  assert.ok(seen.errors > COUNT / 50 && seen.rows > COUNT, "the generator makes too little of interest");
  t.diagnostic(`${seen.rows} rows and ${seen.errors} errors were the same`);
});

const inspect = (params) => JSON.stringify(params, (_, value) => (typeof value === "bigint" ? `${value}n` : value));
