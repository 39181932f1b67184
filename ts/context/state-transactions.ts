/**
 * Transactions that include the state: SQL and everything in `c.state` and
 * `conn.state` become durable together, or are taken back together.
 *
 * They run one after the other. While one is open, only the code inside its
 * callback may change the state; other code gets `actor/state_transaction_conflict`,
 * and `c.state` shows it the state from before the transaction.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { type StatementContext, Statements } from "../db/statements";
import { fromNativePromise } from "../errors/bridge";
import { stateTransactionConflict, transactionsDoNotNest, waitsForItself } from "../errors/raised";
import type { NativeStateTransaction } from "../native/storage-types";
import type { StateDelta } from "../native/types";
import type { StateCell } from "./state-cell";
import type { Watcher } from "./write-through";

/** The transaction whose callback an async context belongs to. */
const inside = new AsyncLocalStorage<Scope>();

interface Scope {
  readonly owner: StateTransactions;
  readonly snapshot: Snapshot;
  /** Events to send once it is committed. */
  readonly events: (() => void)[];
  /** Resolves when it has ended and the state is right again. */
  readonly settled: Promise<void>;
  active: boolean;
  /** What is to be stored has been decided: nobody changes the state any more. */
  sealed: boolean;
  /** Native code has been asked to commit, and has not answered. */
  committing: boolean;
}

/** The state as it was at some moment. */
export interface Snapshot {
  /** Encoded; `undefined` if it was what is stored. */
  readonly bytes: Uint8Array | undefined;
  /** The same of a connection's state; `undefined` for one that came later. */
  connection(id: string): Uint8Array | undefined;
  /** For code outside, which may look and not touch. */
  readonly state: StateCell;
  /** Makes it the state again. */
  restore(): void;
}

function refuseChange(): never {
  throw stateTransactionConflict("The state cannot be changed by other code");
}

/** Watches a state that nobody may change. */
export const refusing: Watcher = {
  beforeChange: refuseChange,
  changed() {},
};

/** What a transaction needs of its actor. */
export interface StateOwner {
  begin(timeoutMs: number | undefined): Promise<NativeStateTransaction>;
  /** What to store of the state as it is now. */
  delta(): StateDelta;
  /** Remembers the state as it is now; the result brings it back. */
  snapshot(): Snapshot;
  /** The state is decided again; these events of the transaction are to be sent. */
  settled(events: readonly (() => void)[]): void;
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
    const open = this.#open;
    if (open !== undefined && (open.sealed || inside.getStore() !== open)) refuseChange();
  }

  /** The transaction that may still take the state back. */
  get undecided(): Pick<Scope, "committing" | "settled" | "snapshot"> | undefined {
    return this.#open;
  }

  /** What code outside an open transaction sees. */
  get fromOutside(): Snapshot | undefined {
    const open = this.#open;
    return open === undefined || inside.getStore() === open ? undefined : open.snapshot;
  }

  /** Keeps an event until the transaction it is sent in has been committed. */
  afterCommit(send: () => void): boolean {
    const scope = inside.getStore();
    if (scope === undefined || !this.#isInside()) return false;
    scope.events.push(send);
    return true;
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
    const snapshot = await this.#snapshotOr(tx);
    let settle: () => void = () => {};
    const scope: Scope = {
      owner: this,
      snapshot,
      events: [],
      settled: new Promise((resolve) => {
        settle = resolve;
      }),
      active: true,
      sealed: false,
      committing: false,
    };
    this.#open = scope;
    try {
      const result = await inside.run(scope, () => work(new Statements(context, tx)));
      scope.sealed = true;
      const delta = this.#owner.delta();
      scope.committing = true;
      await fromNativePromise(() => tx.commit(delta));
      return result;
    } catch (error) {
      scope.sealed = true;
      scope.events.length = 0;
      // First: native code saves again as soon as the transaction has ended.
      snapshot.restore();
      scope.committing = false;
      // Fails if it has ended already, by its deadline or in the commit.
      await tx.rollback().catch(() => undefined);
      // Native code has put back connection states as they were when it was asked
      // to begin, which may have been earlier.
      snapshot.restore();
      throw error;
    } finally {
      scope.active = false;
      this.#open = undefined;
      settle();
      this.#owner.settled(scope.events);
    }
  }

  /** A state that cannot be encoded could not be brought back. */
  async #snapshotOr(tx: NativeStateTransaction): Promise<Snapshot> {
    try {
      return this.#owner.snapshot();
    } catch (error) {
      await tx.rollback().catch(() => undefined);
      throw error;
    }
  }

  #isInside(): boolean {
    const scope = inside.getStore();
    return scope !== undefined && scope.owner === this && scope.active;
  }
}
