/**
 * Transactions that include the state: SQL and everything in `c.state` and
 * `conn.state` become durable together, or are taken back together.
 *
 * They run one after the other. While one is open, only the code inside its
 * callback may change the state; other code gets `actor/state_transaction_conflict`.
 * It may read, and sees changes that are not committed yet.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { type StatementContext, Statements } from "../db/statements";
import { fromNativePromise } from "../errors/bridge";
import { stateTransactionConflict, transactionsDoNotNest, waitsForItself } from "../errors/raised";
import type { NativeStateTransaction } from "../native/storage-types";
import type { StateDelta } from "../native/types";

/** The transaction whose callback an async context belongs to. */
const inside = new AsyncLocalStorage<Scope>();

interface Scope {
  readonly owner: StateTransactions;
  active: boolean;
}

/** What a transaction needs of its actor. */
export interface StateOwner {
  begin(timeoutMs: number | undefined): Promise<NativeStateTransaction>;
  /** What to store of the state as it is now. */
  delta(): StateDelta;
  /** Remembers the state as it is now; the result brings it back. */
  snapshot(): () => void;
}

export class StateTransactions {
  readonly #owner: StateOwner;
  #open: Scope | undefined;
  #last: Promise<void> = Promise.resolve();

  constructor(owner: StateOwner) {
    this.#owner = owner;
  }

  /** Refuses changes of the state by code outside the open transaction. */
  checkChange(): void {
    if (this.#open !== undefined && inside.getStore() !== this.#open) {
      throw stateTransactionConflict("The state cannot be changed by other code");
    }
  }

  /** Refuses what would wait for the end of the transaction it is part of. */
  checkSave(): void {
    if (this.#isInside()) throw stateTransactionConflict("The state cannot be saved on its own");
  }

  checkStatement(): void {
    if (this.#isInside()) throw waitsForItself();
  }

  async run(
    context: StatementContext,
    work: (tx: Statements) => Promise<unknown>,
    timeout: number | undefined,
  ): Promise<unknown> {
    if (this.#isInside()) throw transactionsDoNotNest();
    const before = this.#last;
    let leave: () => void = () => {};
    this.#last = new Promise((resolve) => {
      leave = resolve;
    });
    await before;
    try {
      const tx = await fromNativePromise(() => this.#owner.begin(timeout));
      return await this.#runBegun(tx, context, work);
    } finally {
      leave();
    }
  }

  async #runBegun(
    tx: NativeStateTransaction,
    context: StatementContext,
    work: (tx: Statements) => Promise<unknown>,
  ): Promise<unknown> {
    const scope: Scope = { owner: this, active: true };
    const restore = this.#owner.snapshot();
    this.#open = scope;
    try {
      const result = await inside.run(scope, () => work(new Statements(context, tx)));
      const delta = this.#owner.delta();
      await fromNativePromise(() => tx.commit(delta));
      return result;
    } catch (error) {
      // Fails if it has ended already, by its deadline or in the commit.
      await tx.rollback().catch(() => undefined);
      // The transaction is still the open one: nobody has changed anything since.
      restore();
      throw error;
    } finally {
      scope.active = false;
      this.#open = undefined;
    }
  }

  #isInside(): boolean {
    const scope = inside.getStore();
    return scope !== undefined && scope.owner === this && scope.active;
  }
}
