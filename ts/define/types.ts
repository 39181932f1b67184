/** What `actor()` takes and returns. */
import type {
  ActionContext,
  ActorContext,
  BeforeConnectContext,
  Conn,
  CreateContext,
  NoSchemas,
} from "../context/types";
import type { UniversalWebSocket } from "../context/websocket-types";
import type { AnyDatabaseProvider } from "../db/types";
import type { ActorOptions } from "./options";
import type { EventSchemaConfig, PrimitiveSchema, QueueSchemaConfig } from "./schema";

type Awaitable<T> = T | Promise<T>;

/** Actions by name; groups nest and are called as `group.action`. */
export interface Actions<
  S,
  CP,
  CS,
  V,
  I,
  DB extends AnyDatabaseProvider,
  E extends EventSchemaConfig = NoSchemas,
  Q extends QueueSchemaConfig = NoSchemas,
> {
  [name: string]:
    | ((c: ActionContext<S, CP, CS, V, I, DB, E, Q>, ...args: any[]) => any)
    | Actions<S, CP, CS, V, I, DB, E, Q>;
}

/** Validators of action arguments (as an array), nested like the actions. */
export interface ActionInputSchemas {
  [name: string]: PrimitiveSchema | ActionInputSchemas;
}

/** Gives types that cannot be inferred: `types: {} as { input: string }`. */
export interface ActorTypes<S, CP, CS, V, I, DB> {
  state?: S;
  connParams?: CP;
  connState?: CS;
  vars?: V;
  input?: I;
  database?: DB;
}

/** A tab of the inspector: a page of your own, or a built-in one to hide. */
export type InspectorTab =
  | { id: string; label: string; source: string; icon?: string; hidden?: false }
  | { id: string; hidden: true };

/** `run` with a display name. */
export interface RunConfig<C> {
  name?: string;
  icon?: string;
  run: (c: C) => Awaitable<void>;
}

/**
 * The contexts below leave out what the function itself creates: a type that
 * occurs in a parameter is settled before the function's result can be inferred.
 */
type StateOption<S, I, DB extends AnyDatabaseProvider, E extends EventSchemaConfig, Q extends QueueSchemaConfig> =
  | { state: S }
  | { createState: (c: CreateContext<unknown, I, DB, E, Q>, input: I) => Awaitable<S> }
  | NoSchemas;

type VarsOption<S, V, I, DB extends AnyDatabaseProvider, E extends EventSchemaConfig, Q extends QueueSchemaConfig> =
  | { vars: V }
  | { createVars: (c: CreateContext<S, I, DB, E, Q>) => Awaitable<V> }
  | NoSchemas;

type ConnStateOption<
  S,
  CP,
  CS,
  V,
  I,
  DB extends AnyDatabaseProvider,
  E extends EventSchemaConfig,
  Q extends QueueSchemaConfig,
> =
  | { connState: CS }
  | { createConnState: (c: BeforeConnectContext<S, V, I, DB, E, Q>, params: CP) => Awaitable<CS> }
  | NoSchemas;

interface Hooks<
  S,
  CP,
  CS,
  V,
  I,
  DB extends AnyDatabaseProvider,
  E extends EventSchemaConfig,
  Q extends QueueSchemaConfig,
  R,
> {
  /** Every start, before anything else; `isNew` on the very first. */
  onMigrate?: (c: ActorContext<S, CP, CS, V, I, DB, E, Q>, isNew: boolean) => Awaitable<void>;
  /** Once in the actor's life, after its state was created. */
  onCreate?: (c: CreateContext<S, I, DB, E, Q>, input: I) => Awaitable<void>;
  /** Every start, the first included, once state and vars are there. */
  onWake?: (c: ActorContext<S, CP, CS, V, I, DB, E, Q>) => Awaitable<void>;
  /** Last hook before the actor takes calls. */
  onBeforeActorStart?: (c: ActorContext<S, CP, CS, V, I, DB, E, Q>) => Awaitable<void>;
  /** Before sleep; the state is saved after it. */
  onSleep?: (c: ActorContext<S, CP, CS, V, I, DB, E, Q>) => Awaitable<void>;
  /** Before the data is deleted. */
  onDestroy?: (c: ActorContext<S, CP, CS, V, I, DB, E, Q>) => Awaitable<void>;
  /** After changes of the state, once per tick; must not change the state itself. */
  onStateChange?: (c: ActorContext<S, CP, CS, V, I, DB, E, Q>, state: S) => Awaitable<void>;
  /** Judges a connection; a throw refuses it. */
  onBeforeConnect?: (c: BeforeConnectContext<S, V, I, DB, E, Q>, params: CP) => Awaitable<void>;
  onConnect?: (c: ActionContext<S, CP, CS, V, I, DB, E, Q>, conn: Conn<CP, CS, E>) => Awaitable<void>;
  onDisconnect?: (c: ActionContext<S, CP, CS, V, I, DB, E, Q>, conn: Conn<CP, CS, E>) => Awaitable<void>;
  /** May replace what an action returned. */
  onBeforeActionResponse?: <Out>(
    c: ActionContext<S, CP, CS, V, I, DB, E, Q>,
    name: string,
    args: unknown[],
    output: Out,
  ) => Awaitable<Out>;
  /** Raw HTTP under `/request`. */
  onRequest?: (c: ActionContext<S, CP, CS, V, I, DB, E, Q>, request: Request) => Awaitable<Response>;
  /** Raw WebSockets under `/websocket`. */
  onWebSocket?: (c: ActionContext<S, CP, CS, V, I, DB, E, Q>, socket: UniversalWebSocket) => Awaitable<void>;
  /** Runs beside the calls from start to sleep; its end does not stop the actor. */
  run?:
    | ((c: ActorContext<S, CP, CS, V, I, DB, E, Q>) => Awaitable<void>)
    | RunConfig<ActorContext<S, CP, CS, V, I, DB, E, Q>>;
  // Not `R` alone with a constraint: TypeScript would then type `c` before it has
  // inferred the state from hooks further up in the same object.
  actions?: R & Actions<S, CP, CS, V, I, DB, E, Q>;
  actionInputSchemas?: ActionInputSchemas;
  connParamsSchema?: PrimitiveSchema;
  events?: E;
  queues?: Q;
  options?: ActorOptions;
  inspector?: { tabs?: InspectorTab[] };
}

export type ActorConfigInput<
  S,
  CP,
  CS,
  V,
  I,
  DB extends AnyDatabaseProvider,
  E extends EventSchemaConfig,
  Q extends QueueSchemaConfig,
  R extends object,
> = { types?: ActorTypes<S, CP, CS, V, I, DB> } & Hooks<S, CP, CS, V, I, DB, E, Q, R> &
  StateOption<S, I, DB, E, Q> &
  VarsOption<S, V, I, DB, E, Q> &
  ConnStateOption<S, CP, CS, V, I, DB, E, Q> &
  ({ db: DB } | NoSchemas);

/** What `actor()` returns: goes into `setup({ use })`. */
export interface ActorDefinition<
  S,
  CP,
  CS,
  V,
  I,
  DB extends AnyDatabaseProvider,
  E extends EventSchemaConfig = NoSchemas,
  Q extends QueueSchemaConfig = NoSchemas,
  R extends object = NoSchemas,
> {
  readonly config: ActorConfigInput<S, CP, CS, V, I, DB, E, Q, R>;
  /** Carries what clients are typed by; never present at run time. */
  readonly _client?: ClientFacingTypes<CP, I, E, Q, R>;
}

export interface ClientFacingTypes<CP, I, E, Q, R> {
  params: CP;
  input: I;
  events: E;
  queues: Q;
  actions: R;
}

export interface AnyActorDefinition {
  readonly config: any;
}
