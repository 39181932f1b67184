/**
 * Kysely over an actor's database: `greenroom/kysely`. Needs `kysely`.
 *
 * A connection of Kysely is no connection of SQLite, of which there is one, but
 * the right to use it: outside of transactions all share it, and a transaction has
 * it for itself.
 */
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  type QueryCompiler,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type Transaction,
} from "kysely";
import { invalidOption } from "../errors/raised";
import { toRecord, toRecords } from "./rows";
import type { DatabaseProvider, SqliteDatabase, SqliteStatements, SqliteTransactionDatabase } from "./types";

export interface KyselyOptions<DB> {
  /** Creates and changes tables; runs on every start, in one transaction. */
  onMigrate?: (db: Transaction<DB>) => Promise<void> | void;
}

/** The provider of Kysely: `actor({ db: db<Tables>({ onMigrate }) })`. */
export function db<DB>(options: KyselyOptions<DB> = {}): DatabaseProvider<Kysely<DB>> {
  const { onMigrate } = options;
  return {
    createClient: async (ctx) =>
      new Kysely<DB>({ dialect: new GreenroomDialect(await ctx.nativeDatabaseProvider.open(ctx.actorId)) }),
    async onMigrate(client) {
      if (onMigrate !== undefined) await client.transaction().execute(async (tx) => onMigrate(tx));
    },
  };
}

/** For a Kysely of one's own, with plugins or a log. */
export class GreenroomDialect implements Dialect {
  readonly #database: SqliteDatabase;

  constructor(database: SqliteDatabase) {
    this.#database = database;
  }

  createDriver(): Driver {
    return new ActorDriver(this.#database);
  }

  createQueryCompiler(): QueryCompiler {
    return new SqliteQueryCompiler();
  }

  createAdapter(): SqliteAdapter {
    return new SqliteAdapter();
  }

  createIntrospector(database: Kysely<any>): SqliteIntrospector {
    return new SqliteIntrospector(database);
  }
}

class ActorDriver implements Driver {
  readonly #database: SqliteDatabase;

  constructor(database: SqliteDatabase) {
    this.#database = database;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<ActorConnection> {
    return new ActorConnection(this.#database);
  }

  beginTransaction(connection: ActorConnection): Promise<void> {
    return connection.begin();
  }

  commitTransaction(connection: ActorConnection): Promise<void> {
    return connection.end((tx) => tx.commit());
  }

  rollbackTransaction(connection: ActorConnection): Promise<void> {
    return connection.end((tx) => tx.rollback());
  }

  savepoint(connection: ActorConnection, name: string): Promise<void> {
    return connection.plain(`savepoint ${quoted(name)}`);
  }

  rollbackToSavepoint(connection: ActorConnection, name: string): Promise<void> {
    return connection.plain(`rollback to ${quoted(name)}`);
  }

  releaseSavepoint(connection: ActorConnection, name: string): Promise<void> {
    return connection.plain(`release ${quoted(name)}`);
  }

  async releaseConnection(): Promise<void> {}

  /** The database belongs to the actor, which closes it when it stops. */
  async destroy(): Promise<void> {}
}

class ActorConnection implements DatabaseConnection {
  readonly #database: SqliteDatabase;
  #transaction: SqliteTransactionDatabase | undefined;

  constructor(database: SqliteDatabase) {
    this.#database = database;
  }

  async begin(): Promise<void> {
    this.#transaction = await this.#database.beginTransaction();
  }

  async end(how: (tx: SqliteTransactionDatabase) => Promise<void>): Promise<void> {
    const transaction = this.#transaction;
    this.#transaction = undefined;
    if (transaction !== undefined) await how(transaction);
  }

  async plain(sql: string): Promise<void> {
    await this.#target.raw(sql);
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const { columns, values, changes, lastInsertRowId } = await this.#target.raw(sql, [...parameters]);
    if (columns.length > 0) return { rows: toRecords(columns, values) as R[] };
    return {
      rows: [],
      numAffectedRows: BigInt(changes),
      ...(lastInsertRowId !== null && { insertId: BigInt(lastInsertRowId) }),
    };
  }

  async *streamQuery<R>({ sql, parameters }: CompiledQuery, chunkSize: number): AsyncGenerator<QueryResult<R>, void> {
    if (!Number.isInteger(chunkSize) || chunkSize < 1) throw invalidOption("chunkSize", "must be a positive integer");
    let rows: R[] = [];
    for await (const { columns, row } of this.#target.iterate(sql, [...parameters])) {
      rows.push(toRecord(columns, row) as R);
      if (rows.length === chunkSize) {
        yield { rows };
        rows = [];
      }
    }
    if (rows.length > 0) yield { rows };
  }

  get #target(): SqliteStatements {
    return this.#transaction ?? this.#database;
  }
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
