/** The low-level database interface over the native one. */
import { ActorError } from "../errors/actor-error";
import { fromNative } from "../errors/bridge";
import { databaseClosed } from "../errors/raised";
import type { NativeDatabase, NativeTransaction } from "../native/storage-types";
import { bindParams } from "./bindings";
import type {
  SqliteBatchStatement,
  SqliteBindings,
  SqliteDatabase,
  SqliteExecuteResult,
  SqliteNativeMetrics,
  SqliteQueryResult,
  SqliteTransactionDatabase,
} from "./types";

type RowCallback = (row: unknown[], columns: string[]) => void;

export class SqliteDatabaseImpl implements SqliteDatabase {
  readonly #native: NativeDatabase;
  #closed = false;

  constructor(native: NativeDatabase) {
    this.#native = native;
  }

  async exec(sql: string, callback?: RowCallback): Promise<void> {
    const { columns, rows } = await this.#call((db) => db.exec(sql));
    if (callback !== undefined) for (const row of rows) callback(row, columns);
  }

  async execute(sql: string, params?: SqliteBindings): Promise<SqliteExecuteResult> {
    return this.#call((db) => db.execute(sql, bindParams(sql, params)));
  }

  async executeBatch(statements: SqliteBatchStatement[]): Promise<SqliteExecuteResult[]> {
    const native = statements.map(({ sql, params }) => {
      const bound = bindParams(sql, params);
      return { sql, ...(bound !== undefined && { params: bound }) };
    });
    return this.#call((db) => db.executeBatch(native));
  }

  async beginTransaction(timeoutMs?: number, name?: string): Promise<SqliteTransactionDatabase> {
    const native = await this.#call((db) => db.beginTransaction(timeoutMs, name));
    return transactionOver(native, (error) => this.#explain(error));
  }

  async run(sql: string, params?: SqliteBindings): Promise<void> {
    await this.#call((db) => db.run(sql, bindParams(sql, params)));
  }

  async query(sql: string, params?: SqliteBindings): Promise<SqliteQueryResult> {
    return this.#call((db) => db.query(sql, bindParams(sql, params)));
  }

  nativeMetrics(): SqliteNativeMetrics | null {
    return this.#native.metrics();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#native.close();
  }

  async #call<T>(operation: (db: NativeDatabase) => Promise<T>): Promise<T> {
    if (this.#closed) throw databaseClosed();
    try {
      return await operation(this.#native);
    } catch (error) {
      throw this.#explain(error);
    }
  }

  /** SQLite says little about storage trouble; the storage may know more. */
  #explain(thrown: unknown): unknown {
    const error = fromNative(thrown);
    if (!(error instanceof ActorError) || !STORAGE_TROUBLE.test(errorText(error))) return error;
    const detail = this.#native.takeLastKvError();
    if (detail === null) return error;
    return new ActorError(error.group, error.code, `${error.message} (${detail})`, {
      metadata: error.metadata,
      cause: error,
      ...(error.actor !== undefined && { actor: error.actor }),
    });
  }
}

const STORAGE_TROUBLE = /i\/o error|unable to open database file/i;

function errorText(error: ActorError): string {
  const detail = (error.metadata as { error?: unknown } | undefined)?.error;
  return `${error.message} ${typeof detail === "string" ? detail : ""}`;
}

function transactionOver(native: NativeTransaction, explain: (error: unknown) => unknown): SqliteTransactionDatabase {
  const call = async <T>(operation: Promise<T>): Promise<T> => {
    try {
      return await operation;
    } catch (error) {
      throw explain(error);
    }
  };
  return {
    async exec(sql, callback) {
      const { columns, rows } = await call(native.exec(sql));
      if (callback !== undefined) for (const row of rows) callback(row, columns);
    },
    execute: async (sql, params) => call(native.execute(sql, bindParams(sql, params))),
    commit: () => call(native.commit()),
    rollback: () => call(native.rollback()),
  };
}
