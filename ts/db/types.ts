/** Types of the database an actor sees as `c.db`, and of its providers. */

/** Positional values, or an object of named ones. */
export type SqliteBindings = unknown[] | Record<string, unknown>;

export interface SqliteQueryResult {
  columns: string[];
  rows: unknown[][];
}

export interface SqliteExecuteResult extends SqliteQueryResult {
  changes: number;
  lastInsertRowId?: number | null;
}

export interface SqliteBatchStatement {
  sql: string;
  params?: SqliteBindings;
}

export interface SqliteTransactionOptions {
  /** Static name under which profiling groups this transaction. */
  name?: string;
  /** Milliseconds until it is rolled back as a deadlock. Default 60,000. */
  timeout?: number;
}

/** The low level: statements in, arrays of cells out. */
export interface SqliteDatabase {
  /** Runs a script of several statements; the callback gets the rows of the last. */
  exec(sql: string, callback?: (row: unknown[], columns: string[]) => void): Promise<void>;
  execute(sql: string, params?: SqliteBindings): Promise<SqliteExecuteResult>;
  /** All statements in one transaction. */
  executeBatch(statements: SqliteBatchStatement[]): Promise<SqliteExecuteResult[]>;
  beginTransaction(timeoutMs?: number, name?: string): Promise<SqliteTransactionDatabase>;
  run(sql: string, params?: SqliteBindings): Promise<void>;
  query(sql: string, params?: SqliteBindings): Promise<SqliteQueryResult>;
  nativeMetrics?(): SqliteNativeMetrics | null;
  close(): Promise<void>;
}

export interface SqliteTransactionDatabase {
  exec(sql: string, callback?: (row: unknown[], columns: string[]) => void): Promise<void>;
  execute(sql: string, params?: SqliteBindings): Promise<SqliteExecuteResult>;
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

/** What `c.db` offers without a mapper: rows as objects, and transactions. */
export interface RawAccess {
  /**
   * Runs SQL and returns its rows as objects. Bindings are the values that
   * follow, or one plain object for `:name`, `@name` and `$name`. Without
   * bindings the text may hold several statements.
   */
  execute<TRow extends Record<string, unknown> = Record<string, unknown>>(
    query: string,
    ...args: unknown[]
  ): Promise<TRow[]>;
  /** Commits when the callback returns, rolls back when it throws. */
  transaction<T>(callback: (tx: RawAccess) => Promise<T> | T, options?: SqliteTransactionOptions): Promise<T>;
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
