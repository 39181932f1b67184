/** Statements on a database or in a transaction: values in, arrays of cells out. */
import { withToken } from "../context/abort";
import { invalidArgument } from "../errors/malformed";
import { databaseClosed, notInStateTransaction } from "../errors/raised";
import type { NativeModule } from "../native/registry-types";
import type { NativeSqlResult, NativeStatements } from "../native/storage-types";
import type { NativeCancellationToken } from "../native/types";
import { flatten, unfolded } from "./batch";
import { bindable, bindParams, requireText, unevenRows } from "./bindings";
import { explain } from "./failure";
import { toLists } from "./rows";
import { Turnstile } from "./turnstile";
import type {
  SqliteBatchStatement,
  SqliteBindings,
  SqliteExecuteResult,
  SqliteQueryResult,
  SqliteRunResult,
  SqliteStatements,
  SqlLimits,
  SqlValue,
} from "./types";

/** Calls in native code at a time, half of what it admits. */
const IN_FLIGHT_MAX = 64;
/** Rows fetched at a time while a result is iterated over, after the first 512. */
const PAGE_ROWS = 4096;

/** A state transaction has single statements only. */
type NativeTarget = Pick<NativeStatements, "executeValues"> & Partial<NativeStatements>;

/** What the statements of one actor share. */
export interface StatementContext {
  readonly native: Pick<NativeModule, "CancellationToken">;
  readonly lastStorageError: () => string | null;
  /** Throws if a call may not begin now. */
  readonly check: () => void;
}

export class Statements implements SqliteStatements {
  protected readonly context: StatementContext;
  readonly #target: NativeTarget;
  readonly #turnstile: Turnstile;
  readonly #limits: SqlLimits;

  constructor(
    context: StatementContext,
    target: NativeTarget,
    limits: SqlLimits = {},
    turnstile = new Turnstile(IN_FLIGHT_MAX),
  ) {
    this.context = context;
    this.#target = target;
    this.#limits = limits;
    this.#turnstile = turnstile;
  }

  limited(limits: SqlLimits): SqliteStatements {
    return new Statements(this.context, this.#target, { ...this.#limits, ...limits }, this.#turnstile);
  }

  async exec(sql: string, callback?: (row: SqlValue[], columns: string[]) => void): Promise<void> {
    const { columns, rows } = await this.script(sql);
    if (callback !== undefined) for (const row of rows) callback(row, columns);
  }

  async script(sql: string): Promise<SqliteQueryResult> {
    requireText(sql);
    const result = await this.#call((ms, token) => this.#full("a script").scriptValues(sql, ms, token));
    return { columns: [...result.columns], rows: toLists(result.columns, result.values) };
  }

  /** The result as native code gives it. */
  async raw(sql: string, params?: SqliteBindings): Promise<NativeSqlResult> {
    const bound = bindParams(sql, params);
    const { timeout, signal } = this.#limits;
    if (signal !== undefined) return this.#call((ms, token) => this.#target.executeValues(sql, bound, ms, token));
    // What `#call` does, without its promises: single statements are what there is most of.
    if (!this.#turnstile.tryEnter()) await this.#turnstile.enter();
    try {
      this.context.check();
      return await this.#target.executeValues(sql, bound, timeout);
    } catch (error) {
      throw explain(error, this.context.lastStorageError);
    } finally {
      this.#turnstile.leave();
    }
  }

  async execute(sql: string, params?: SqliteBindings): Promise<SqliteExecuteResult> {
    return listed(await this.raw(sql, params));
  }

  async query(sql: string, params?: SqliteBindings): Promise<SqliteQueryResult> {
    const { columns, values } = await this.raw(sql, params);
    return { columns: [...columns], rows: toLists(columns, values) };
  }

  async run(sql: string, params?: SqliteBindings): Promise<SqliteRunResult> {
    const { changes, lastInsertRowId } = await this.raw(sql, params);
    return { changes, lastInsertRowId };
  }

  async executeBatch(statements: readonly SqliteBatchStatement[]): Promise<SqliteExecuteResult[]> {
    return (await this.rawBatch(statements)).map(listed);
  }

  /** The results of a batch as native code gives single ones. */
  async rawBatch(statements: readonly SqliteBatchStatement[]): Promise<NativeSqlResult[]> {
    const batch = flatten(statements);
    return unfolded(await this.#call((ms, token) => this.#full("a batch").batchValues(batch, ms, token)));
  }

  async executeMany(sql: string, rows: Iterable<readonly unknown[]>): Promise<SqliteRunResult> {
    requireText(sql);
    if (typeof rows?.[Symbol.iterator] !== "function") throw invalidArgument("rows", "must be iterable");
    const values: SqlValue[] = [];
    let count = 0;
    let width: number | undefined;
    for (const row of rows) {
      if (!Array.isArray(row)) throw invalidArgument("rows", "must hold arrays");
      // They travel as one list, in which the values of one row must not become those of another.
      width ??= row.length;
      if (row.length !== width) throw unevenRows(count, row.length, width);
      count++;
      for (let at = 0; at < row.length; at++) values.push(bindable(at, row[at]));
    }
    const { changes, lastInsertRowId } = await this.#call((ms, token) =>
      this.#full("a statement with many rows").repeatValues({ sql, count, values }, ms, token),
    );
    return { changes, lastInsertRowId };
  }

  async *iterate(sql: string, params?: SqliteBindings): AsyncGenerator<{ columns: string[]; row: SqlValue[] }, void> {
    const bound = bindParams(sql, params);
    const cursor = await this.#call((ms, token) => this.#full("iteration").openCursor(sql, bound, ms, token));
    try {
      const columns = cursor.columns();
      for (let done = false; !done; ) {
        // Native code knows the limits of this result; no token is made per page.
        const page = await this.#turnstile.pass(() => this.#explained(cursor.nextPage(PAGE_ROWS)));
        done = page.done;
        for (const row of toLists(columns, page.values)) yield { columns, row };
      }
    } finally {
      cursor.close();
    }
  }

  #full(what: string): NativeStatements {
    if (this.#target.scriptValues === undefined) throw notInStateTransaction(what);
    return this.#target as NativeStatements;
  }

  #call<T>(
    operation: (timeoutMs: number | undefined, token: NativeCancellationToken | undefined) => Promise<T>,
  ): Promise<T> {
    const { timeout, signal } = this.#limits;
    return this.#turnstile.pass(async () => {
      this.context.check();
      if (signal === undefined) return this.#explained(operation(timeout, undefined));
      return withToken(this.context.native, signal, (token) => this.#explained(operation(timeout, token)));
    });
  }

  async #explained<T>(operation: Promise<T>): Promise<T> {
    try {
      return await operation;
    } catch (error) {
      throw explain(error, this.context.lastStorageError);
    }
  }
}

export function whileOpen(isClosed: () => boolean): () => void {
  return () => {
    if (isClosed()) throw databaseClosed();
  };
}

function listed({ columns, values, changes, lastInsertRowId }: NativeSqlResult): SqliteExecuteResult {
  return { columns: [...columns], rows: toLists(columns, values), changes, lastInsertRowId };
}
