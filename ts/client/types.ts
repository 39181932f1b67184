/** Types of the client: from a registry to typed handles. */
import type { InferEventArgs, InferQueueComplete, InferSchema, IsOpen } from "../define/infer";
import type { AnyActorDefinition, ClientFacingTypes } from "../define/types";
import type { ActorError } from "../errors/actor-error";

/** What a client needs to know of a registry: its actors, as a type. */
export interface RegistryLike {
  readonly config: { use: Record<string, AnyActorDefinition> };
}

export type ActorsOf<R> = R extends { readonly config: { use: infer Actors } } ? Actors : never;

type IsAny<T> = 0 extends 1 & T ? true : false;

/** An action as its callers see it: without the context, always a promise. */
export type ActorActionFunction<Args extends unknown[] = unknown[], Result = unknown> = (
  ...args: Args extends [unknown, ...infer Rest] ? Rest : number extends Args["length"] ? Args : []
) => Promise<Result>;

type ActionMap<R> = {
  [K in keyof R]: R[K] extends (...args: infer Args) => infer Result
    ? ActorActionFunction<Args, Awaited<Result>>
    : R[K] extends object
      ? ActionMap<R[K]>
      : never;
};

type Facing<AD, Key extends keyof ClientFacingTypes<any, any, any, any, any>> = AD extends {
  readonly _client?: ClientFacingTypes<infer CP, infer I, infer E, infer Q, infer R>;
}
  ? ClientFacingTypes<CP, I, E, Q, R>[Key]
  : any;
type QueuesOf<AD> = Facing<AD, "queues">;
type EventsOf<AD> = Facing<AD, "events">;
type InputOf<AD> = Facing<AD, "input">;
type ParamsOf<AD> = Facing<AD, "params">;
/** A type nobody declared must not stand in anybody's way. */
type Loose<T> = IsAny<T> extends true ? any : [T] extends [undefined] ? unknown : unknown extends T ? any : T;

/** The typed actions of a handle or connection. */
export type ActorActions<AD extends AnyActorDefinition> =
  IsAny<AD> extends true ? { readonly [name: string]: any } : ActionMap<Facing<AD, "actions">>;

export interface ActorGatewayOptions {
  /** Deliver to an actor that is still starting or already stopping. */
  skipReadyWait?: boolean;
}

export interface ActorActionOptions extends ActorGatewayOptions {
  signal?: AbortSignal;
}

export interface QueueSendWaitOptions {
  /** Wait until the message is completed. */
  wait: true;
  /** Milliseconds to wait for the completion. */
  timeout?: number;
  signal?: AbortSignal;
}

export interface QueueSendNoWaitOptions {
  wait?: false;
  timeout?: never;
  signal?: AbortSignal;
}

export interface QueueSendResult<T = unknown> {
  status: "completed" | "timedOut";
  response?: T;
}

type SendName<Q> = IsOpen<Q> extends true ? string : keyof Q & string;
type SendBody<Q, N> = IsOpen<Q> extends true ? unknown : N extends keyof Q ? InferSchema<Q[N]> : never;
type SendAnswer<Q, N> = IsOpen<Q> extends true ? unknown : N extends keyof Q ? InferQueueComplete<Q[N]> : unknown;

/** Puts a message into the actor's queue. */
export interface ActorQueueSend<Q> {
  <N extends SendName<Q>>(
    name: N,
    body: SendBody<Q, N>,
    options: QueueSendWaitOptions,
  ): Promise<QueueSendResult<SendAnswer<Q, N>>>;
  <N extends SendName<Q>>(name: N, body: SendBody<Q, N>, options?: QueueSendNoWaitOptions): Promise<void>;
}

/** What every handle can do, whatever the actor defines. */
export interface ActorHandleBase<AD extends AnyActorDefinition = any> {
  /** Calls an action by name; `handle.name(...args)` is the same. */
  action<Result = unknown>(call: { name: string; args: unknown[] } & ActorActionOptions): Promise<Result>;
  /** Resolves when the message is on disk, or with `wait` when it is completed. */
  readonly send: ActorQueueSend<QueuesOf<AD>>;
  readonly queue: { readonly send: ActorQueueSend<QueuesOf<AD>> };
  /** The actor's id; with `getOrCreate` the actor is created if need be. */
  resolve(options?: { signal?: AbortSignal }): Promise<string>;
  /** Raw HTTP to the actor's `onRequest`. */
  fetch(input: string | URL | Request, init?: RequestInit & ActorGatewayOptions): Promise<Response>;
  /** The URL under which this actor's routes are found. */
  getGatewayUrl(): Promise<string>;
  /** A connection that reconnects by itself; opens at once. */
  connect(params?: Loose<ParamsOf<AD>>, options?: ActorGatewayOptions & { signal?: AbortSignal }): ActorConn<AD>;
  webSocket(path?: string, protocols?: string | string[], options?: ActorGatewayOptions): Promise<WebSocketLike>;
}

/** A WebSocket of the platform; typed loosely because Node 20 has none. */
export type WebSocketLike = any;

export type ActorHandle<AD extends AnyActorDefinition> = ActorHandleBase<AD> & ActorActions<AD>;

export type ActorConnStatus = "idle" | "connecting" | "connected" | "disconnected";
export type EventUnsubscribe = () => void;

type ListenName<E> = IsOpen<E> extends true ? string : keyof E & string;
type ListenArgs<E, N> = IsOpen<E> extends true ? any[] : N extends keyof E ? InferEventArgs<InferSchema<E[N]>> : never;

/** Registers a listener for an event. */
export type ActorEventSubscribe<E> = <N extends ListenName<E>>(
  name: N,
  listener: (...args: ListenArgs<E, N>) => void,
) => EventUnsubscribe;

export interface ActorConnBase<AD extends AnyActorDefinition = any> {
  action<Result = unknown>(call: { name: string; args: unknown[]; signal?: AbortSignal }): Promise<Result>;
  readonly send: ActorQueueSend<QueuesOf<AD>>;
  readonly on: ActorEventSubscribe<EventsOf<AD>>;
  readonly once: ActorEventSubscribe<EventsOf<AD>>;
  onError(listener: (error: ActorError) => void): EventUnsubscribe;
  onOpen(listener: () => void): EventUnsubscribe;
  onClose(listener: () => void): EventUnsubscribe;
  onStatusChange(listener: (status: ActorConnStatus) => void): EventUnsubscribe;
  readonly connStatus: ActorConnStatus;
  /** Id of the connection, as the actor sees it; changes with each new connection. */
  readonly connectionId: string | undefined;
  readonly actorId: string | undefined;
  /** Resolves when the connection is open for the first time. */
  readonly ready: Promise<void>;
  dispose(): Promise<void>;
}

export type ActorConn<AD extends AnyActorDefinition> = ActorConnBase<AD> & ActorActions<AD>;

export interface QueryOptions<P = unknown> {
  /** Handed to the actor's connection hooks. */
  params?: P;
  /** Asked for fresh params at every `connect()` and `webSocket()`. */
  getParams?: () => Promise<P>;
  /** Aborts every call made through the handle. */
  signal?: AbortSignal;
}

export interface GetOrCreateOptions<P = unknown, I = unknown> extends QueryOptions<P> {
  createWithInput?: I;
  createInRegion?: string;
  poolName?: string;
}

export interface CreateOptions<P = unknown, I = unknown> extends QueryOptions<P> {
  input?: I;
  region?: string;
  poolName?: string;
}

/** `client.name`: the ways to a handle. */
export interface ActorAccessor<AD extends AnyActorDefinition> {
  /** Calls fail with `actor/not_found` while no actor has the key. */
  get(key?: string | readonly string[], options?: QueryOptions<Loose<ParamsOf<AD>>>): ActorHandle<AD>;
  /** Calls create the actor if there is none. */
  getOrCreate(
    key?: string | readonly string[],
    options?: GetOrCreateOptions<Loose<ParamsOf<AD>>, Loose<InputOf<AD>>>,
  ): ActorHandle<AD>;
  getForId(actorId: string, options?: QueryOptions<Loose<ParamsOf<AD>>>): ActorHandle<AD>;
  /** Creates now; `actor/duplicate_key` if the key is taken. */
  create(
    key?: string | readonly string[],
    options?: CreateOptions<Loose<ParamsOf<AD>>, Loose<InputOf<AD>>>,
  ): Promise<ActorHandle<AD>>;
}

/** The same four by name, for actors that are not known to the type. */
export interface ClientBase {
  get<AD extends AnyActorDefinition = any>(
    name: string,
    key?: string | readonly string[],
    options?: QueryOptions,
  ): ActorHandle<AD>;
  getOrCreate<AD extends AnyActorDefinition = any>(
    name: string,
    key?: string | readonly string[],
    options?: GetOrCreateOptions,
  ): ActorHandle<AD>;
  getForId<AD extends AnyActorDefinition = any>(name: string, actorId: string, options?: QueryOptions): ActorHandle<AD>;
  create<AD extends AnyActorDefinition = any>(
    name: string,
    key?: string | readonly string[],
    options?: CreateOptions,
  ): Promise<ActorHandle<AD>>;
  /** Closes all connections of this client. */
  dispose(): Promise<void>;
}

export type Client<R> = ClientBase &
  (IsAny<R> extends true
    ? { readonly [name: string]: any }
    : { readonly [K in keyof ActorsOf<R>]: AccessorOf<ActorsOf<R>[K]> });

type AccessorOf<AD> = AD extends AnyActorDefinition ? ActorAccessor<AD> : never;
