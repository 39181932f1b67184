/** `c.db` without a mapper, and the `db()` provider for it. */
import { setOwn } from "../common/plain";
import { bindingsOf } from "./bindings";
import type {
  DatabaseProvider,
  RawAccess,
  SqliteDatabase,
  SqliteProfilingOptions,
  SqliteTransactionDatabase,
  SqliteTransactionOptions,
} from "./types";

/** Migrations may take long; this is when a hung one is given up. */
const MIGRATION_TIMEOUT_MS = 300_000;
const MIGRATION_NAME = "rivetkit-migration";

type Rows = Record<string, unknown>[];

export interface DatabaseOptions {
  /** Creates and changes tables; runs on every start, in one transaction. */
  onMigrate?: (db: RawAccess) => Promise<void> | void;
  /** Accepted for ported code; without effect. */
  warnOnManualTransactions?: boolean;
  profiling?: SqliteProfilingOptions;
}

/** The provider of plain SQL: `actor({ db: db({ onMigrate }) })`. */
export function db(options: DatabaseOptions = {}): DatabaseProvider<RawAccess> {
  const { onMigrate, profiling } = options;
  return {
    ...(profiling !== undefined && { sqliteProfiling: profiling }),
    createClient: async (ctx) => createRawAccess(await ctx.nativeDatabaseProvider.open(ctx.actorId)),
    async onMigrate(client) {
      if (onMigrate === undefined) return;
      await client.transaction(onMigrate, { name: MIGRATION_NAME, timeout: MIGRATION_TIMEOUT_MS });
    },
  };
}

export function createRawAccess(database: SqliteDatabase): RawAccess {
  return {
    execute: executor(database) as RawAccess["execute"],
    transaction: (callback, options) => runTransaction(database, callback, options),
    nativeMetrics: () => database.nativeMetrics?.() ?? null,
    close: () => database.close(),
  };
}

async function runTransaction<T>(
  database: SqliteDatabase,
  callback: (tx: RawAccess) => Promise<T> | T,
  { timeout, name }: SqliteTransactionOptions = {},
): Promise<T> {
  const transaction = await database.beginTransaction(timeout, name);
  let result: T;
  try {
    result = await callback(transactionAccess(transaction));
  } catch (error) {
    // The callback's error is the one that matters; a rollback that fails as
    // well leaves nothing behind that the deadline would not clean up.
    await transaction.rollback().catch(() => undefined);
    throw error;
  }
  await transaction.commit();
  return result;
}

function transactionAccess(transaction: SqliteTransactionDatabase): RawAccess {
  return {
    execute: executor(transaction) as RawAccess["execute"],
    transaction: async () => {
      throw new Error("a transaction is open already: transactions do not nest");
    },
    close: async () => {
      throw new Error("a transaction ends with its callback; it cannot be closed");
    },
  };
}

function executor(
  target: Pick<SqliteDatabase, "exec" | "execute">,
): (sql: string, ...args: unknown[]) => Promise<Rows> {
  return async (sql, ...args) => {
    const bindings = bindingsOf(args);
    if (bindings === undefined && isScript(sql)) return script(target, sql);
    const { columns, rows } = await target.execute(sql, bindings);
    return rows.map((row) => record(columns, row));
  };
}

async function script(target: Pick<SqliteDatabase, "exec">, sql: string): Promise<Rows> {
  const rows: Rows = [];
  await target.exec(sql, (row, columns) => rows.push(record(columns, row)));
  return rows;
}

/**
 * Whether a text may hold several statements: something follows a semicolon. A
 * semicolon in a literal makes a single statement take the script path, which
 * runs it just as well.
 */
function isScript(sql: string): boolean {
  return /;\s*\S/.test(sql);
}

function record(columns: string[], row: unknown[]): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (let i = 0; i < columns.length; i++) setOwn(object, columns[i] as string, row[i]);
  return object;
}
