/**
 * Drizzle over an actor's database: `greenroom/drizzle`. Needs `drizzle-orm`.
 *
 * Goes through Drizzle's own proxy driver; transactions are replaced by ours,
 * because the driver's are plain `BEGIN`s that isolate nothing here.
 */
import { createHash } from "node:crypto";
import { drizzle, type SqliteRemoteDatabase } from "drizzle-orm/sqlite-proxy";
import { ActorError } from "../errors/actor-error";
import { transactionsDoNotNest } from "../errors/raised";
import { createRawAccess, migrate, runTransaction, transactionAccess } from "./raw-access";
import { toLists } from "./rows";
import type {
  DatabaseProvider,
  RawAccess,
  SqliteDatabase,
  SqliteProfilingOptions,
  SqliteStatements,
  SqliteTransactionOptions,
  SqlValue,
} from "./types";

type Schema = Record<string, unknown>;

/** What Drizzle has no word for: plain SQL, iteration, many rows, the end. */
type Plain = Pick<RawAccess, "execute" | "iterate" | "executeMany" | "close" | "nativeMetrics">;

/** Drizzle's database with our transactions, and plain SQL beside it. */
export type DrizzleDatabase<S extends Schema = Record<string, never>> = Omit<SqliteRemoteDatabase<S>, "transaction"> &
  Plain & { transaction: Transact<S> };

/** Commits when the callback returns, rolls back when it throws. Transactions do not nest. */
type Transact<S extends Schema> = <T>(
  callback: (tx: DrizzleDatabase<S>) => Promise<T> | T,
  options?: SqliteTransactionOptions,
) => Promise<T>;

/** What `drizzle-kit generate` writes for durable SQLite: the journal and the texts by `m0000`. */
export interface DrizzleMigrations {
  journal: unknown;
  migrations: Record<string, string>;
}

export interface DrizzleOptions<S extends Schema> {
  schema?: S;
  /** Run on every start, as far as they have not run before. */
  migrations?: DrizzleMigrations;
  /** Runs after the migrations, in the same transaction. */
  onMigrate?: (db: DrizzleDatabase<S>) => Promise<void> | void;
  /** Accepted for ported code; without effect. */
  warnOnManualTransactions?: boolean;
  profiling?: SqliteProfilingOptions;
}

/** The provider of Drizzle: `actor({ db: db({ schema, migrations }) })`. */
export function db<S extends Schema = Record<string, never>>(
  options: DrizzleOptions<S> = {},
): DatabaseProvider<DrizzleDatabase<S>> {
  const { schema, migrations, onMigrate, profiling } = options;
  return {
    ...(profiling !== undefined && { sqliteProfiling: profiling }),
    createClient: async (ctx) => clientOver(await ctx.nativeDatabaseProvider.open(ctx.actorId), schema),
    async onMigrate(client) {
      if (migrations === undefined && onMigrate === undefined) return;
      await migrate<DrizzleDatabase<S>>(client, async (tx) => {
        if (migrations !== undefined) await runMigrations(tx, migrations);
        await onMigrate?.(tx);
      });
    },
  };
}

function clientOver<S extends Schema>(database: SqliteDatabase, schema: S | undefined): DrizzleDatabase<S> {
  const transaction = <T>(
    callback: (tx: DrizzleDatabase<S>) => Promise<T> | T,
    options?: SqliteTransactionOptions,
  ): Promise<T> => runTransaction(database, (tx) => callback(inside(tx, schema)), options);
  return client(database, schema, createRawAccess(database), transaction);
}

function inside<S extends Schema>(tx: SqliteStatements, schema: S | undefined): DrizzleDatabase<S> {
  return client(tx, schema, transactionAccess(tx), async (): Promise<never> => {
    throw transactionsDoNotNest();
  });
}

function client<S extends Schema>(
  target: SqliteStatements,
  schema: S | undefined,
  plain: RawAccess,
  transaction: Transact<S>,
): DrizzleDatabase<S> {
  const { execute, iterate, executeMany, close, nativeMetrics } = plain;
  const database = drizzle<S>(
    (sql, params, method) => one(target, sql, params, method),
    (batch) => several(target, batch),
    { ...(schema !== undefined && { schema }) },
  );
  return Object.assign(database, { execute, iterate, executeMany, close, nativeMetrics, transaction }) as never;
}

type Method = "run" | "all" | "values" | "get";

async function one(target: SqliteStatements, sql: string, params: unknown[], method: Method): Promise<{ rows: any[] }> {
  const { columns, values } = await target.raw(sql, params);
  return { rows: shaped(toLists(columns, values), method) };
}

async function several(
  target: SqliteStatements,
  batch: { sql: string; params: unknown[]; method: Method }[],
): Promise<{ rows: any[] }[]> {
  const results = await target.executeBatch(batch);
  return results.map(({ rows }, at) => ({ rows: shaped(rows, batch[at]?.method ?? "all") }));
}

/** The driver wants one row on its own where one is asked for, and then none may be missing. */
function shaped(rows: SqlValue[][], method: Method): any[] {
  return method === "get" ? (rows[0] as any[]) : rows;
}

interface JournalEntry {
  idx: number;
  when: number;
  tag: string;
}

/** Keeps the books that Drizzle's own migrators keep, in the form of the published package. */
async function runMigrations(tx: Plain, { journal, migrations }: DrizzleMigrations): Promise<void> {
  await tx.execute(
    "create table if not exists __drizzle_migrations (id integer primary key autoincrement, hash text not null, created_at numeric)",
  );
  const [last] = await tx.execute<{ at: number | null }>("select max(created_at) as at from __drizzle_migrations");
  for (const { idx, when, tag } of entriesOf(journal)) {
    if (last?.at != null && last.at >= when) continue;
    const text = migrations[`m${String(idx).padStart(4, "0")}`];
    if (text === undefined) throw invalidMigrations(`the text of migration ${tag} is missing`);
    for (const statement of text.split("--> statement-breakpoint")) await tx.execute(statement);
    const hash = createHash("sha256").update(text).digest("hex");
    await tx.execute("insert into __drizzle_migrations (hash, created_at) values (?, ?)", hash, when);
  }
}

function entriesOf(journal: unknown): JournalEntry[] {
  const entries = (journal as { entries?: unknown } | null)?.entries;
  if (!Array.isArray(entries)) throw invalidMigrations("the journal has no entries");
  return entries;
}

function invalidMigrations(reason: string): ActorError {
  return new ActorError("config", "invalid_definition", `Invalid Drizzle migrations: ${reason}`, {
    metadata: { option: "migrations", reason },
  });
}
