/**
 * A stateless handle to one actor, and the proxy that gives it typed actions.
 *
 * Each call finds the actor anew; a handle holds no connection and never goes
 * stale (one made from an id does when that actor is destroyed).
 */
import { invalidOption } from "../errors/raised";
import type { QueueSendReply } from "../wire/format";
import { Connection } from "./connection/connection";
import { connectionProxy } from "./connection/proxy";
import { NO_HOST } from "./gateway";
import { withRetry } from "./retry";
import type { ClientSocket } from "./socket";
import type { Target } from "./target";
import type { CallOptions, SocketCall, Transport } from "./transport";
import type { ActorActionOptions, ActorGatewayOptions } from "./types";

export interface HandleDefaults {
  readonly params?: unknown;
  readonly signal?: AbortSignal | undefined;
  readonly skipReadyWait?: boolean | undefined;
  /** Asked for the parameters of each socket. */
  readonly getParams?: (() => Promise<unknown>) | undefined;
  /** Told of every connection made; what it returns is called at its end. */
  readonly onConnection?: ((connection: Connection) => () => void) | undefined;
}

interface SendOptions {
  wait?: boolean;
  timeout?: number;
  signal?: AbortSignal;
}

export class HandleCore {
  readonly #transport: Transport;
  readonly #target: Target;
  readonly #defaults: HandleDefaults;

  constructor(transport: Transport, target: Target, defaults: HandleDefaults) {
    this.#transport = transport;
    this.#target = target;
    this.#defaults = defaults;
  }

  async action(call: { name: string; args?: unknown[] } & ActorActionOptions): Promise<unknown> {
    const { name, args = [] } = call;
    if (typeof name !== "string" || name === "") throw invalidOption("action.name", "must be a non-empty string");
    const options = this.#callOptions(call);
    return withRetry(this.#target, options.signal, () => this.#transport.action(this.#target, name, args, options));
  }

  async send(name: string, body: unknown, options: SendOptions = {}): Promise<QueueSendReply | undefined> {
    const call = { name, body, wait: options.wait === true, timeout: options.timeout };
    const callOptions = this.#callOptions(options);
    const reply = await withRetry(this.#target, callOptions.signal, () =>
      this.#transport.send(this.#target, call, callOptions),
    );
    return call.wait ? reply : undefined;
  }

  async fetch(input: string | URL | Request, init: RequestInit & ActorGatewayOptions = {}): Promise<Response> {
    const { skipReadyWait, signal, ...rest } = init;
    const options = this.#callOptions({
      ...(skipReadyWait !== undefined && { skipReadyWait }),
      ...(signal != null && { signal }),
    });
    const attempt = () => this.#transport.fetch(this.#target, toRequest(input, rest, options.signal), options);
    // A body that is a stream can be read once: no second attempt.
    const once = rest.body instanceof ReadableStream || (input instanceof Request && input.body !== null);
    return once ? attempt() : withRetry(this.#target, options.signal, attempt);
  }

  async resolve(options: { signal?: AbortSignal } = {}): Promise<string> {
    if (this.#target.kind === "id") return this.#target.actorId;
    const { signal } = this.#callOptions(options);
    return withRetry(this.#target, signal, () => this.#transport.resolve(this.#target, signal));
  }

  getGatewayUrl(): Promise<string> {
    return this.#transport.gatewayUrl(this.#target);
  }

  connect(params?: unknown, options: ActorGatewayOptions & { signal?: AbortSignal } = {}): object {
    const { signal, skipReadyWait } = this.#callOptions(options);
    let end: (() => void) | undefined;
    const connection = new Connection({
      signal,
      open: async () => {
        const format = await this.#transport.messages;
        const call = { params, skipReadyWait, encoding: this.#transport.encoding };
        return { format, socket: await this.#socket("/connect", call) };
      },
      onEnd: () => end?.(),
    });
    end = this.#defaults.onConnection?.(connection);
    return connectionProxy(connection, this);
  }

  /** A raw WebSocket to the actor's `onWebSocket`; resolves before it is open. */
  async webSocket(path = "", _protocols?: string | string[], options: ActorGatewayOptions = {}): Promise<ClientSocket> {
    const { skipReadyWait } = this.#callOptions(options);
    return this.#socket(`/websocket/${path.replace(/^\/+/, "")}`, { skipReadyWait });
  }

  async #socket(path: string, call: Omit<SocketCall, "path">): Promise<ClientSocket> {
    const { params, getParams } = this.#defaults;
    const given = call.params ?? (getParams === undefined ? params : await getParams());
    return this.#transport.socket(this.#target, { ...call, path, ...(given !== undefined && { params: given }) });
  }

  #callOptions(call: { signal?: AbortSignal; skipReadyWait?: boolean }): CallOptions {
    const { params, signal, skipReadyWait } = this.#defaults;
    return {
      ...(params !== undefined && { params }),
      signal: anySignal(signal, call.signal),
      skipReadyWait: call.skipReadyWait ?? skipReadyWait ?? false,
    };
  }
}

const METHODS: ReadonlySet<PropertyKey> = new Set([
  "action",
  "send",
  "fetch",
  "resolve",
  "getGatewayUrl",
  "connect",
  "webSocket",
]);

/** Every property that is no method of the handle is an action, or a group. */
export function handleProxy(core: HandleCore): object {
  return new Proxy(core, {
    get: (_, property) => (METHODS.has(property) ? method(core, property as "send") : action(core, "", property)),
    has: (_, property) => METHODS.has(property),
  });
}

function action(core: HandleCore, prefix: string, property: PropertyKey): unknown {
  // A handle must not look like a promise, nor like anything symbols ask for.
  if (typeof property === "symbol" || property === "then") return undefined;
  const name = prefix + String(property);
  const call = (...args: unknown[]) => core.action({ name, args });
  return new Proxy(call, {
    get: (_, inner) =>
      // `handle.queue.send()`; an action called `queue` stays callable beside it.
      name === "queue" && inner === "send" ? method(core, "send") : action(core, `${name}.`, inner),
  });
}

function method<K extends "send">(core: HandleCore, name: K): HandleCore[K] {
  return core[name].bind(core) as HandleCore[K];
}

/** Paths are relative to the actor; the host of a URL is kept for its handler. */
function toRequest(input: string | URL | Request, init: RequestInit, signal: AbortSignal | undefined): Request {
  const options: RequestInit & { duplex?: "half" } = { ...init, ...(signal !== undefined && { signal }) };
  if (options.body instanceof ReadableStream) options.duplex = "half";
  if (input instanceof Request) return new Request(input, options);
  if (input instanceof URL) return new Request(input, options);
  return new Request(new URL(input.startsWith("/") ? input : `/${input}`, `http://${NO_HOST}`), options);
}

function anySignal(a: AbortSignal | undefined, b: AbortSignal | undefined): AbortSignal | undefined {
  if (a === undefined || b === undefined || a === b) return a ?? b;
  return AbortSignal.any([a, b]);
}
