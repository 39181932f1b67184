/** `c.db` without a mapper, and the `db()` provider for it. */
import { transactionsDoNotNest } from "../errors/raised";
import { bindingsOf, requireText } from "./bindings";
import { toRecord, toRecords } from "./rows";
import { statementOf } from "./template";
import type {
  DatabaseProvider,
  RawAccess,
  SqliteBindings,
  SqliteDatabase,
  SqliteProfilingOptions,
  SqliteStatements,
  SqliteTransactionDatabase,
  SqliteTransactionOptions,
  SqlRow,
} from "./types";

/** Migrations may take long; this is when a hung one is given up. */
const MIGRATION_TIMEOUT_MS = 300_000;
const MIGRATION_NAME = "rivetkit-migration";

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
      if (onMigrate !== undefined) await migrate(client, onMigrate);
    },
  };
}

/** Runs a migration as every provider does: in one transaction with time to spare. */
export async function migrate<T>(
  client: { transaction(work: (tx: T) => Promise<void> | void, options: SqliteTransactionOptions): Promise<void> },
  work: (tx: T) => Promise<void> | void,
): Promise<void> {
  await client.transaction(work, { name: MIGRATION_NAME, timeout: MIGRATION_TIMEOUT_MS });
}

export function createRawAccess(database: SqliteDatabase, statements: SqliteStatements = database): RawAccess {
  return {
    ...statementMethods(statements),
    transaction: (work, options) => runTransaction(database, (tx) => work(transactionAccess(tx)), options),
    with: (limits) => createRawAccess(database, statements.limited(limits)),
    nativeMetrics: () => database.nativeMetrics?.() ?? null,
    close: () => database.close(),
  };
}

/** Commits when `work` returns, rolls back when it throws. */
export async function runTransaction<T>(
  database: SqliteDatabase,
  work: (tx: SqliteStatements) => Promise<T> | T,
  options: SqliteTransactionOptions = {},
): Promise<T> {
  if (options.includeState ?? options.experimental?.includeState) {
    return database.runStateTransaction(async (tx) => work(tx), options);
  }
  const transaction: SqliteTransactionDatabase = await database.beginTransaction(options.timeout, options.name);
  let result: T;
  try {
    result = await work(transaction);
  } catch (error) {
    // The callback's error is the one that matters; a rollback that fails as
    // well leaves nothing behind that the deadline would not clean up.
    await transaction.rollback().catch(() => undefined);
    throw error;
  }
  await transaction.commit();
  return result;
}

export function transactionAccess(statements: SqliteStatements): RawAccess {
  return {
    ...statementMethods(statements),
    transaction: async () => {
      throw transactionsDoNotNest();
    },
    with: (limits) => transactionAccess(statements.limited(limits)),
    close: async () => {
      throw new Error("a transaction ends with its callback; it cannot be closed");
    },
  };
}

type StatementMethods = Omit<RawAccess, "transaction" | "with" | "nativeMetrics" | "close">;

function statementMethods(target: SqliteStatements): StatementMethods {
  const rows = async (query: unknown, ...args: unknown[]): Promise<SqlRow[]> => {
    const { sql, bindings } = callOf(query, args);
    if (bindings === undefined && isScript(sql)) {
      const { columns, rows } = await target.script(sql);
      return rows.map((row) => toRecord(columns, row));
    }
    const { columns, values } = await target.raw(sql, bindings);
    return toRecords(columns, values);
  };
  const methods = {
    execute: rows,
    query: rows,
    async get(query: unknown, ...args: unknown[]): Promise<SqlRow | undefined> {
      const { sql, bindings } = callOf(query, args);
      const { columns, values } = await target.raw(sql, bindings);
      return values.length === 0 ? undefined : toRecord(columns, values);
    },
    async run(query: unknown, ...args: unknown[]) {
      const { sql, bindings } = callOf(query, args);
      return target.run(sql, bindings);
    },
    async *iterate(query: unknown, ...args: unknown[]): AsyncGenerator<SqlRow, void> {
      const { sql, bindings } = callOf(query, args);
      for await (const { columns, row } of target.iterate(sql, bindings)) yield toRecord(columns, row);
    },
    executeMany: target.executeMany.bind(target),
    async batch(statements: readonly { sql: string; params?: SqliteBindings }[]) {
      const results = await target.rawBatch(statements);
      return results.map(({ columns, values, changes, lastInsertRowId }) => ({
        rows: toRecords(columns, values),
        changes,
        lastInsertRowId,
      }));
    },
  };
  return methods as unknown as StatementMethods;
}

function callOf(query: unknown, args: unknown[]): { sql: string; bindings: SqliteBindings | undefined } {
  const statement = statementOf(query, args);
  if (statement === undefined) {
    requireText(query);
    return { sql: query, bindings: bindingsOf(args) };
  }
  const { sql, params } = statement;
  return { sql, bindings: params.length === 0 ? undefined : params };
}

/**
 * Whether a text may hold several statements: something follows a semicolon. A
 * semicolon in a literal makes a single statement take the script path, which
 * runs it just as well.
 */
function isScript(sql: string): boolean {
  return /;\s*\S/.test(sql);
}
