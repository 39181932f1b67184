/** The low-level database interface over the native one. */
import type { NativeModule } from "../native/registry-types";
import type { NativeDatabase, NativeTransaction } from "../native/storage-types";
import { explain } from "./failure";
import { type StatementContext, Statements, whileOpen } from "./statements";
import type {
  SqliteDatabase,
  SqliteNativeMetrics,
  SqliteTransactionDatabase,
  SqliteTransactionOptions,
  StateTransactionRunner,
} from "./types";

export interface DatabaseParts {
  readonly native: NativeDatabase;
  readonly module: Pick<NativeModule, "CancellationToken">;
  /** Throws if the calling code may not use the database now. */
  readonly check: () => void;
  readonly runStateTransaction: (
    context: StatementContext,
    work: (tx: Statements) => Promise<unknown>,
    timeout: number | undefined,
  ) => Promise<unknown>;
}

export class SqliteDatabaseImpl extends Statements implements SqliteDatabase {
  readonly #parts: DatabaseParts;
  readonly #state: { closed: boolean };

  constructor(parts: DatabaseParts) {
    const state = { closed: false };
    const checkOpen = whileOpen(() => state.closed);
    const context: StatementContext = {
      native: parts.module,
      lastStorageError: () => parts.native.takeLastKvError(),
      check: () => {
        checkOpen();
        parts.check();
      },
    };
    super(context, parts.native);
    this.#parts = parts;
    this.#state = state;
  }

  async beginTransaction(timeoutMs?: number, name?: string): Promise<SqliteTransactionDatabase> {
    this.context.check();
    try {
      const native = await this.#parts.native.beginTransaction(timeoutMs, name);
      return new SqliteTransactionImpl(this.#insideContext(), native);
    } catch (error) {
      throw explain(error, this.context.lastStorageError);
    }
  }

  readonly runStateTransaction: StateTransactionRunner = async (work, { timeout }: SqliteTransactionOptions = {}) => {
    if (this.#state.closed) this.context.check();
    return (await this.#parts.runStateTransaction(this.#insideContext(), work, timeout)) as never;
  };

  nativeMetrics(): SqliteNativeMetrics | null {
    return this.#parts.native.metrics();
  }

  async close(): Promise<void> {
    if (this.#state.closed) return;
    this.#state.closed = true;
    await this.#parts.native.close();
  }

  /** A transaction itself knows whether it is over. */
  #insideContext(): StatementContext {
    return { ...this.context, check: () => {} };
  }
}

class SqliteTransactionImpl extends Statements implements SqliteTransactionDatabase {
  readonly #native: NativeTransaction;

  constructor(context: StatementContext, native: NativeTransaction) {
    super(context, native);
    this.#native = native;
  }

  commit(): Promise<void> {
    return this.#end(() => this.#native.commit());
  }

  rollback(): Promise<void> {
    return this.#end(() => this.#native.rollback());
  }

  async #end(end: () => Promise<void>): Promise<void> {
    try {
      await end();
    } catch (error) {
      throw explain(error, this.context.lastStorageError);
    }
  }
}
