/**
 * One generation of an actor on the JavaScript side: its live state, vars,
 * connections and the services on `c`. Lives in the native runtime bag, so it is
 * found again from any handle and forgotten with the generation.
 */
import { toRaw } from "../common/raw";
import { callNative } from "../errors/bridge";
import { stateNotEnabled } from "../errors/raised";
import type { NativeStateTransaction } from "../native/storage-types";
import type { NativeContext, StateDelta } from "../native/types";
import { AbortFan } from "./abort";
import { ActorContextImpl } from "./actor-context";
import { ConnTable } from "./conns";
import { DatabaseSlot } from "./database-slot";
import { createKv } from "./kv";
import { ActorQueueImpl } from "./queue";
import { SaveScheduler, type StateChangeHook } from "./save-scheduler";
import { createCron, createSchedule } from "./schedule";
import type { ActorCron, ActorKv, ActorLogger, ActorSchedule } from "./service-types";
import type { ActorServices } from "./services";
import { StateCell } from "./state-cell";
import { refusing, type Snapshot, StateTransactions } from "./state-transactions";

const SLOT = Symbol.for("greenroom.runtime");

interface Slot {
  [SLOT]?: ActorRuntime;
}

export class ActorRuntime {
  readonly services: ActorServices;
  readonly native: NativeContext;
  readonly saves: SaveScheduler;
  readonly conns: ConnTable;
  readonly database: DatabaseSlot;
  readonly stateTransactions: StateTransactions;
  /** Values of this generation; set by `createVars`, free to be replaced. */
  vars: unknown;
  readonly #state: StateCell;
  /** Events wait for the changes that were made before them. */
  readonly #defersEvents: boolean;
  /** What `createState` returned, until native code has stored it. */
  #initialState: Uint8Array | undefined;
  /** What a transaction that was taken back has left, until somebody looks at it. */
  #restored: Uint8Array | undefined;
  #log: ActorLogger | undefined;
  #aborts: AbortFan | undefined;
  #schedule: ActorSchedule | undefined;
  #cron: ActorCron | undefined;
  #kv: ActorKv | undefined;
  #queue: ActorQueueImpl | undefined;

  constructor(native: NativeContext, services: ActorServices) {
    this.native = native;
    this.services = services;
    this.stateTransactions = new StateTransactions({
      begin: (timeout) => this.#beginStateTransaction(timeout),
      delta: () => this.delta(),
      snapshot: () => this.#snapshot(),
      settled: (events) => this.#settled(events),
    });
    this.#defersEvents = services.definition.options.durability === "reply";
    this.saves = new SaveScheduler(
      native,
      this.#stateHook(),
      (error) => this.log.error({ msg: "onStateChange failed", error }),
      {
        check: () => this.stateTransactions.checkChange(),
        delta: () => this.delta(),
        isUndecided: () => this.stateTransactions.undecided !== undefined,
      },
    );
    this.#state = new StateCell("state", () => this.#storedState(), this.saves);
    this.conns = new ConnTable(this);
    this.database = new DatabaseSlot(this);
  }

  /** The runtime of a handle's generation. */
  static of(native: NativeContext & Slot, services: ActorServices): ActorRuntime {
    // On the handle too: one handle serves many calls, and need not be asked again.
    native[SLOT] ??= ActorRuntime.#ofGeneration(native, services);
    return native[SLOT];
  }

  static #ofGeneration(native: NativeContext, services: ActorServices): ActorRuntime {
    const bag: Slot = native.runtimeState();
    bag[SLOT] ??= new ActorRuntime(native, services);
    return bag[SLOT];
  }

  get state(): unknown {
    this.#requireState();
    return (this.stateTransactions.fromOutside?.state ?? this.#state).view;
  }

  set state(value: unknown) {
    this.#requireState();
    this.#state.replace(value);
  }

  /** The new actor's first state, encoded. */
  initialize(state: Uint8Array): void {
    this.#initialState = state;
  }

  /** The state to save; `undefined` if it cannot have changed since it was stored. */
  encodeState(): Uint8Array | undefined {
    if (!this.services.definition.hasState) return undefined;
    if (!this.#state.loaded) return this.#restored;
    return this.services.codec.encode(this.#state.raw, "state");
  }

  /**
   * What a save may store now: never what a transaction may still take back, so
   * while its commit is under way the answer waits for the outcome.
   */
  storable(): StateDelta | Promise<StateDelta> {
    const open = this.stateTransactions.undecided;
    if (open === undefined) return this.delta();
    if (open.committing) return open.settled.then(() => this.storable());
    return this.#deltaOf(open.snapshot.bytes, (id) => open.snapshot.connection(id));
  }

  /** The state of this moment, with all that is to be stored beside it. */
  delta(): StateDelta {
    this.conns.flush();
    return this.#deltaOf(this.encodeState());
  }

  #deltaOf(
    state: Uint8Array | undefined,
    earlier: (id: string) => Uint8Array | undefined = () => undefined,
  ): StateDelta {
    return {
      ...(state !== undefined && { state }),
      connHibernation: this.native.dirtyHibernatableConns().map((conn) => {
        const connId = conn.id();
        return { connId, bytes: earlier(connId) ?? conn.state() };
      }),
      connHibernationRemoved: this.native.takePendingHibernationChanges(),
    };
  }

  /**
   * Tells native code of every change so far, before the work that made it ends:
   * the last save of a generation comes when no work is left, and covers what was
   * told by then.
   */
  settle(): void {
    this.conns.flush();
    this.saves.requestPending();
  }

  /** Keeps the actor from falling asleep, or from being put away, before an asynchronous listener is done. */
  async listening(work: Promise<unknown>): Promise<void> {
    const region = this.native.beginWebsocketCallback();
    try {
      await work;
    } finally {
      this.settle();
      this.native.endWebsocketCallback(region);
    }
  }

  /**
   * Sends an event. With durability "reply" it must not tell of changes that are
   * lost: native code learns of them first, and one sent inside a transaction
   * waits for its commit.
   */
  emit(send: () => void): void {
    if (this.#defersEvents) {
      if (this.stateTransactions.afterCommit(send)) return;
      this.settle();
    }
    callNative(send);
  }

  get log(): ActorLogger {
    this.#log ??= this.services.log.child({ actor: this.services.name, actorId: this.native.actorId() });
    return this.#log;
  }

  get abortSignal(): AbortSignal {
    return this.aborts.signal;
  }

  get aborts(): AbortFan {
    this.#aborts ??= new AbortFan(this.native.abortSignal());
    return this.#aborts;
  }

  get schedule(): ActorSchedule {
    this.#schedule ??= createSchedule(this.native.schedule(), this.services.codec);
    return this.#schedule;
  }

  get cron(): ActorCron {
    this.#cron ??= createCron(this.native.schedule(), this.services.codec);
    return this.#cron;
  }

  get kv(): ActorKv {
    this.#kv ??= createKv(this.native.kv());
    return this.#kv;
  }

  get queue(): ActorQueueImpl {
    this.#queue ??= new ActorQueueImpl(this.native.queue(), this.services);
    return this.#queue;
  }

  encode(value: unknown, root: string): Uint8Array {
    return this.services.codec.encode(toRaw(value), root);
  }

  decode(bytes: Uint8Array | null | undefined): unknown {
    return bytes == null ? undefined : this.services.codec.decode(bytes);
  }

  /** Native code takes connections' states back, too: it must know them all. */
  #beginStateTransaction(timeout: number | undefined): Promise<NativeStateTransaction> {
    this.conns.flush();
    return this.native.beginStateTransaction(timeout);
  }

  /** Remembers state and connection states; the result brings them back. */
  #snapshot(): Snapshot {
    const bytes = this.encodeState();
    const conns = this.conns.snapshot();
    const load = () => this.services.codec.decode(bytes ?? callNative(() => this.native.state()));
    return {
      bytes,
      connection: conns.bytesOf,
      state: new StateCell("state", load, refusing),
      restore: () => {
        this.#state.reset();
        this.#restored = bytes;
        conns.restore();
        // What was changed before the transaction may not have been saved yet.
        if (bytes !== undefined) this.saves.changed();
      },
    };
  }

  /** Hooks and events that waited for the end of a transaction. */
  #settled(events: readonly (() => void)[]): void {
    this.saves.look();
    for (const send of events) {
      try {
        this.emit(send);
      } catch (error) {
        // The actor ends; the transaction is committed all the same.
        this.log.warn({ msg: "an event of a committed transaction was not sent", error });
      }
    }
  }

  #storedState(): unknown {
    const bytes = this.#restored ?? this.#initialState ?? callNative(() => this.native.state());
    this.#restored = undefined;
    this.#initialState = undefined;
    return this.services.codec.decode(bytes);
  }

  #stateHook(): StateChangeHook | undefined {
    const hook = this.services.definition.hooks.onStateChange;
    if (hook === undefined) return undefined;
    return {
      call: () => hook(new ActorContextImpl(this), this.state),
      isAsync: hook.constructor.name === "AsyncFunction",
    };
  }

  #requireState(): void {
    if (!this.services.definition.hasState) throw stateNotEnabled();
  }
}
