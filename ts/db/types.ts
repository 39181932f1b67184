/** Types of the database an actor sees as `c.db`, and of its providers. */

/** What SQLite stores. Integers beyond 53 bits are bigints. */
export type SqlValue = null | number | bigint | string | Uint8Array;

/** A row by the names of its columns. */
export type SqlRow = Record<string, SqlValue>;

/** Positional values, or an object of named ones. */
export type SqliteBindings = unknown[] | Record<string, unknown>;

/** Text and parameters of one statement, as the tag `sql` makes them. */
export interface SqlStatement {
  readonly sql: string;
  readonly params: unknown[];
}

export interface SqliteQueryResult {
  columns: string[];
  rows: SqlValue[][];
}

export interface SqliteRunResult {
  /** Rows changed by the last `INSERT`, `UPDATE` or `DELETE`, this one or before. */
  changes: number;
  /** Rowid of the last `INSERT`; null while nothing was changed. */
  lastInsertRowId: number | bigint | null;
}

export interface SqliteExecuteResult extends SqliteQueryResult, SqliteRunResult {}

export interface SqliteBatchStatement {
  sql: string;
  params?: SqliteBindings;
}

export interface SqlLimits {
  /** Milliseconds a statement may run. Default 60,000. */
  timeout?: number;
  /** Stops a statement, or keeps it from beginning. */
  signal?: AbortSignal;
}

export interface SqliteTransactionOptions {
  /** Static name under which profiling groups this transaction. */
  name?: string;
  /** Milliseconds until it is rolled back as a deadlock. Default 60,000. */
  timeout?: number;
  /**
   * Commits `c.state` and the states of connections together with the rows, or
   * takes both back. At most 128 statements that bind 512 KiB in all.
   */
  includeState?: boolean;
  /** Where the published package has `includeState`. */
  experimental?: { includeState?: boolean };
}

/** The low level: statements in, arrays of cells out. */
export interface SqliteStatements {
  /** Runs a script of several statements; the callback gets the rows of the last query. */
  exec(sql: string, callback?: (row: SqlValue[], columns: string[]) => void): Promise<void>;
  script(sql: string): Promise<SqliteQueryResult>;
  execute(sql: string, params?: SqliteBindings): Promise<SqliteExecuteResult>;
  /** All cells of the rows in one array, row after row. */
  raw(
    sql: string,
    params?: SqliteBindings,
  ): Promise<{ columns: readonly string[]; values: SqlValue[] } & SqliteRunResult>;
  run(sql: string, params?: SqliteBindings): Promise<SqliteRunResult>;
  query(sql: string, params?: SqliteBindings): Promise<SqliteQueryResult>;
  /** All statements in one transaction. */
  executeBatch(statements: readonly SqliteBatchStatement[]): Promise<SqliteExecuteResult[]>;
  /** The same, each result as {@link raw} gives it. */
  rawBatch(
    statements: readonly SqliteBatchStatement[],
  ): Promise<({ columns: readonly string[]; values: SqlValue[] } & SqliteRunResult)[]>;
  /** One statement, once per row of values, in one transaction. */
  executeMany(sql: string, rows: Iterable<readonly unknown[]>): Promise<SqliteRunResult>;
  /** Reads a result page by page. It shows one state of the database. */
  iterate(sql: string, params?: SqliteBindings): AsyncGenerator<{ columns: string[]; row: SqlValue[] }, void>;
  /** The same statements under limits. */
  limited(limits: SqlLimits): SqliteStatements;
}

export type StateTransactionRunner = <T>(
  work: (tx: SqliteStatements) => Promise<T>,
  options?: SqliteTransactionOptions,
) => Promise<T>;

export interface SqliteDatabase extends SqliteStatements {
  beginTransaction(timeoutMs?: number, name?: string): Promise<SqliteTransactionDatabase>;
  /** State and rows in one commit; only single statements inside. */
  runStateTransaction: StateTransactionRunner;
  nativeMetrics?(): SqliteNativeMetrics | null;
  close(): Promise<void>;
}

export interface SqliteTransactionDatabase extends SqliteStatements {
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

export interface SqliteNativeMetrics {
  [counter: string]: number;
}

export interface SqliteProfilingOptions {
  enabled?: boolean;
  maxTrackedStatementFingerprints?: number;
  maxTrackedTransactionFingerprints?: number;
  maxPrometheusSeries?: number;
  maxStatementsPerTransactionTrace?: number;
  maxGetPagesRequestsPerTrace?: number;
  maxTransactionNameBytes?: number;
  slowOperationThresholdMs?: number;
  baselineSampleRate?: number;
  maxDiagnosticEventsPerMinute?: number;
  diagnosticEventQueueCapacity?: number;
}

type Row = Record<string, unknown>;

/** A call with plain text and its bindings, as a tagged template, or with a statement of `sql`. */
interface Call<Result> {
  (query: string, ...args: unknown[]): Result;
  (query: TemplateStringsArray, ...values: unknown[]): Result;
  (statement: SqlStatement): Result;
}

interface RowsCall {
  <TRow extends Row = SqlRow>(query: string, ...args: unknown[]): Promise<TRow[]>;
  <TRow extends Row = SqlRow>(query: TemplateStringsArray, ...values: unknown[]): Promise<TRow[]>;
  <TRow extends Row = SqlRow>(statement: SqlStatement): Promise<TRow[]>;
}

interface RowCall {
  <TRow extends Row = SqlRow>(query: string, ...args: unknown[]): Promise<TRow | undefined>;
  <TRow extends Row = SqlRow>(query: TemplateStringsArray, ...values: unknown[]): Promise<TRow | undefined>;
  <TRow extends Row = SqlRow>(statement: SqlStatement): Promise<TRow | undefined>;
}

interface IterateCall {
  <TRow extends Row = SqlRow>(query: string, ...args: unknown[]): AsyncGenerator<TRow, void>;
  <TRow extends Row = SqlRow>(query: TemplateStringsArray, ...values: unknown[]): AsyncGenerator<TRow, void>;
  <TRow extends Row = SqlRow>(statement: SqlStatement): AsyncGenerator<TRow, void>;
}

/**
 * What `c.db` offers without a mapper: rows as objects, and transactions.
 *
 * Bindings are the values that follow the text, one plain object for `:name`,
 * `@name` and `$name`, or the values of a tagged template.
 */
export interface RawAccess {
  /** Runs SQL and returns its rows. Without bindings the text may hold several statements. */
  execute: RowsCall;
  /** The same. */
  query: RowsCall;
  /** The first row of one statement. */
  get: RowCall;
  /** What one statement changed. */
  run: Call<Promise<SqliteRunResult>>;
  /** Reads a large result page by page. It shows one state of the database, whatever is written meanwhile. */
  iterate: IterateCall;
  /** All statements in one transaction and one call. */
  batch(
    statements: readonly (SqlStatement | SqliteBatchStatement)[],
  ): Promise<({ rows: SqlRow[] } & SqliteRunResult)[]>;
  /** One statement, once per row of values, in one transaction and one call. */
  executeMany(sql: string, rows: Iterable<readonly unknown[]>): Promise<SqliteRunResult>;
  /** Commits when the callback returns, rolls back when it throws. Transactions do not nest. */
  transaction<T>(callback: (tx: RawAccess) => Promise<T> | T, options?: SqliteTransactionOptions): Promise<T>;
  /** The same database under limits: `c.db.with({ timeout: 100 }).query(…)`. */
  with(limits: SqlLimits): RawAccess;
  nativeMetrics?: () => SqliteNativeMetrics | null;
  close(): Promise<void>;
}

/** Opens the actor's database for a provider. */
export interface NativeDatabaseProvider {
  open(actorId: string): Promise<SqliteDatabase>;
}

/** What a provider gets to build its client from. */
export interface DatabaseProviderContext {
  actorId: string;
  nativeDatabaseProvider: NativeDatabaseProvider;
  kv: {
    batchPut(entries: [Uint8Array, Uint8Array][]): Promise<void>;
    batchGet(keys: Uint8Array[]): Promise<(Uint8Array | null)[]>;
    batchDelete(keys: Uint8Array[]): Promise<void>;
    deleteRange(start: Uint8Array, end: Uint8Array): Promise<void>;
  };
  log: { debug(entry: Record<string, unknown>): void };
}

/** The value of the `db` option. */
export interface DatabaseProvider<DB> {
  sqliteProfiling?: SqliteProfilingOptions;
  /** Builds the client that becomes `c.db`, once per generation. */
  createClient(ctx: DatabaseProviderContext): Promise<DB>;
  /** Runs on every start, before anything else of the actor. */
  onMigrate(client: DB): void | Promise<void>;
}

export type AnyDatabaseProvider = DatabaseProvider<any> | undefined;

export type InferDatabaseClient<P> = P extends DatabaseProvider<infer Client> ? Client : RawAccess;
