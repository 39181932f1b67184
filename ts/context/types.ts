/** The `c` of user code: what every hook and action gets. */
import type { AnyDatabaseProvider, InferDatabaseClient } from "../db/types";
import type { EventArgs, EventName } from "../define/infer";
import type { EventSchemaConfig, QueueSchemaConfig } from "../define/schema";
import type { ActorQueue } from "./queue-types";
import type { ActorCron, ActorKv, ActorLogger, ActorSchedule } from "./service-types";

export type NoSchemas = Record<never, never>;

export interface SaveStateOptions {
  /** Save now; the promise resolves when the state is on disk. */
  immediate?: boolean;
  /** Save within this many milliseconds instead of `stateSaveInterval`. */
  maxWait?: number;
}

export interface RequestSaveOptions {
  /** Save now instead of within `stateSaveInterval`. */
  immediate?: boolean;
  /** Save within this many milliseconds. */
  maxWaitMs?: number;
}

/** One client connection. HTTP calls have one too, for their duration. */
export interface Conn<CP = unknown, CS = unknown, E extends EventSchemaConfig = NoSchemas> {
  readonly id: string;
  readonly params: CP;
  /** Write-through like `c.state`; survives hibernation. */
  state: CS;
  readonly isHibernatable: boolean;
  /** Sends an event to this connection, subscribed or not. */
  send<N extends EventName<E>>(name: N, ...args: EventArgs<E, N>): void;
  disconnect(reason?: string): Promise<void>;
}

export interface ActorContext<
  S,
  CP,
  CS,
  V,
  I,
  DB extends AnyDatabaseProvider,
  E extends EventSchemaConfig = NoSchemas,
  Q extends QueueSchemaConfig = NoSchemas,
> {
  /** Carries the type of the creation input; never present at run time. */
  readonly _input?: I;
  /**
   * The durable state. A write-through proxy: changes at any depth are noticed
   * and saved. A value that cannot be stored is refused at the assignment.
   */
  state: S;
  /** Working values of this generation; never stored. */
  vars: V;
  readonly db: InferDatabaseClient<DB>;
  /** @deprecated Kept for ported code; use `c.db` or state. */
  readonly kv: ActorKv;
  readonly schedule: ActorSchedule;
  readonly cron: ActorCron;
  readonly queue: ActorQueue<Q>;
  readonly actorId: string;
  readonly name: string;
  readonly key: string[];
  readonly region: string;
  /** Open connections by id. A snapshot: it does not change under iteration. */
  readonly conns: ReadonlyMap<string, Conn<CP, CS, E>>;
  readonly log: ActorLogger;
  /** Fires when the actor begins to stop, and at the end of the call it belongs to. */
  readonly abortSignal: AbortSignal;
  readonly aborted: boolean;
  /** The HTTP request behind this call or connection, where there is one. */
  readonly request?: Request;
  /** Sends an event to all connections that subscribed to it. */
  broadcast<N extends EventName<E>>(name: N, ...args: EventArgs<E, N>): void;
  /** Asks for a save and returns at once. */
  requestSave(options?: RequestSaveOptions): void;
  /** Without `immediate` only asks for a save; with it, waits for the disk. */
  saveState(options?: SaveStateOptions): Promise<void>;
  /** Keeps the actor awake, and its shutdown waiting, until the promise settles. */
  keepAwake<T>(promise: Promise<T>): Promise<T>;
  /** Work that shutdown waits for, without keeping the actor awake. */
  waitUntil(promise: Promise<unknown>): void;
  /** Asks to be put to sleep. */
  sleep(): void;
  /** Asks to be destroyed, with all data. */
  destroy(): void;
  /** A client for other actors of the registry: `c.client<typeof registry>()`. */
  client<T = any>(): ClientOf<T>;
  /** @deprecated Does nothing; use `keepAwake` or `waitUntil`. */
  setPreventSleep(prevent: boolean): void;
  /** @deprecated Always false. */
  readonly preventSleep: boolean;
}

/** The client type of a registry; anything else stands for itself. */
export type ClientOf<T> = T extends { client(): infer C } ? C : T;

/** The context of calls that come from a connection. */
export type ActionContext<
  S,
  CP,
  CS,
  V,
  I,
  DB extends AnyDatabaseProvider,
  E extends EventSchemaConfig = NoSchemas,
  Q extends QueueSchemaConfig = NoSchemas,
> = ActorContext<S, CP, CS, V, I, DB, E, Q> & {
  /** The caller's connection; in a scheduled call there is none and this is undefined. */
  readonly conn: Conn<CP, CS, E>;
};

/** Before the state exists: `createState` and `onCreate` see no connection types. */
export type CreateContext<
  S,
  I,
  DB extends AnyDatabaseProvider,
  E extends EventSchemaConfig = NoSchemas,
  Q extends QueueSchemaConfig = NoSchemas,
> = ActorContext<S, unknown, unknown, unknown, I, DB, E, Q>;

/** While a connection is being judged: it has no state yet. */
export type BeforeConnectContext<
  S,
  V,
  I,
  DB extends AnyDatabaseProvider,
  E extends EventSchemaConfig = NoSchemas,
  Q extends QueueSchemaConfig = NoSchemas,
> = ActorContext<S, unknown, unknown, V, I, DB, E, Q>;
