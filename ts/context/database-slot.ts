/** `c.db` of one generation: its client is made once and closed with the actor. */
import { createRawAccess } from "../db/raw-access";
import { SqliteDatabaseImpl } from "../db/sqlite-database";
import type { DatabaseProviderContext } from "../db/types";
import { databaseNotReady } from "../errors/raised";
import type { ActorRuntime } from "./runtime";

export class DatabaseSlot {
  readonly #runtime: ActorRuntime;
  #client: unknown;
  #sqlite: SqliteDatabaseImpl | undefined;

  constructor(runtime: ActorRuntime) {
    this.#runtime = runtime;
  }

  /** The provider's client; without a provider plain SQL, opened on first use. */
  get client(): unknown {
    if (this.#client !== undefined) return this.#client;
    if (this.#runtime.services.definition.db !== undefined) throw databaseNotReady();
    this.#client = createRawAccess(this.#open());
    return this.#client;
  }

  /** Builds the provider's client and lets it migrate; part of every start. */
  async migrate(): Promise<void> {
    const provider = this.#runtime.services.definition.db;
    if (provider === undefined) return;
    this.#client = await provider.createClient(this.#providerContext());
    await provider.onMigrate(this.#client);
  }

  /** Closes what was opened. Native code keeps its own use of the file. */
  async close(): Promise<void> {
    const client = this.#client as { close?: () => Promise<void> } | undefined;
    if (typeof client?.close === "function") await client.close();
    await this.#sqlite?.close();
  }

  #open(): SqliteDatabaseImpl {
    const { native, services, stateTransactions } = this.#runtime;
    this.#sqlite ??= new SqliteDatabaseImpl({
      native: native.sql(),
      module: services.native,
      check: () => stateTransactions.checkStatement(),
      runStateTransaction: (context, work, timeout) => stateTransactions.run(context, work, timeout),
    });
    return this.#sqlite;
  }

  #providerContext(): DatabaseProviderContext {
    const { native, kv, log } = this.#runtime;
    return {
      actorId: native.actorId(),
      nativeDatabaseProvider: { open: async () => this.#open() },
      kv: {
        batchPut: (entries) => kv.batchPut(entries),
        batchGet: (keys) => kv.batchGet(keys),
        batchDelete: (keys) => kv.batchDelete(keys),
        deleteRange: (start, end) => kv.deleteRange(start, end),
      },
      log,
    };
  }
}
