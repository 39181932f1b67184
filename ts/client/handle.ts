/**
 * A stateless handle to one actor.
 *
 * Each call finds the actor anew; a handle holds no connection and never goes
 * stale (one made from an id does when that actor is destroyed).
 */
import { withActions } from "./actions";
import { type Connection, connection } from "./connection/connection";
import { withRetry } from "./retry";
import type { ClientSocket } from "./socket";
import { requireText, type Target } from "./target";
import type { CallOptions, SocketCall, Transport } from "./transport";
import type { ActorActionOptions, ActorGatewayOptions } from "./types";

export interface HandleDefaults {
  readonly params?: unknown;
  readonly signal?: AbortSignal | undefined;
  readonly skipReadyWait?: boolean | undefined;
  /** Asked for the parameters of each socket. */
  readonly getParams?: (() => Promise<unknown>) | undefined;
  /** Every connection made that is not over. */
  readonly connections: Set<Connection>;
}

interface SendOptions {
  wait?: boolean;
  timeout?: number;
  signal?: AbortSignal;
}

interface Options {
  skipReadyWait?: boolean | undefined;
  signal?: AbortSignal | null | undefined;
}

export function actorHandle(transport: Transport, target: Target, defaults: HandleDefaults): object {
  const { connections } = defaults;
  const optionsOf = ({ signal, skipReadyWait = defaults.skipReadyWait ?? false }: Options): CallOptions => ({
    params: defaults.params,
    signal: anySignal(defaults.signal, signal ?? undefined),
    skipReadyWait,
  });

  const action = async (call: { name: string; args?: unknown[] } & ActorActionOptions): Promise<unknown> => {
    const { name, args = [] } = call;
    requireText("action.name", name);
    const options = optionsOf(call);
    return withRetry(target, options.signal, () => transport.action(target, name, args, options));
  };

  const send = async (name: string, body: unknown, given: SendOptions = {}): Promise<unknown> => {
    const wait = given.wait === true;
    const options = optionsOf(given);
    const call = () => transport.send(target, { name, body, wait, timeout: given.timeout }, options);
    const reply = await withRetry(target, options.signal, call);
    return wait ? reply : undefined;
  };

  const socket = async (path: string, call: Omit<SocketCall, "path">): Promise<ClientSocket> => {
    const { params, getParams } = defaults;
    const given = call.params ?? (getParams ? await getParams() : params);
    return transport.socket(target, { ...call, path, params: given });
  };

  const members = {
    action,
    send,
    "queue.send": send,
    fetch: async (
      input: string | URL | Request,
      { skipReadyWait, signal, ...init }: RequestInit & ActorGatewayOptions = {},
    ) => transport.fetch(target, input, init, optionsOf({ skipReadyWait, signal })),
    resolve: async (given: { signal?: AbortSignal } = {}) => {
      if (target.kind === "id") return target.actorId;
      const { signal } = optionsOf(given);
      return withRetry(target, signal, () => transport.resolve(target, signal));
    },
    getGatewayUrl: () => transport.gatewayUrl(target),
    connect: (params?: unknown, given: ActorGatewayOptions & { signal?: AbortSignal } = {}) => {
      const { signal, skipReadyWait } = optionsOf(given);
      const made: Connection = connection({
        signal,
        send,
        line: () => {
          // On its way at the same time; who needs it hears if it does not come.
          transport.messages().catch(() => {});
          return transport.line();
        },
        open: async (over) => {
          const format = await transport.messages();
          over.throwIfAborted();
          const call = { params, skipReadyWait, encoding: transport.encoding, signal: over };
          return { format, socket: await socket("/connect", call) };
        },
        onEnd: () => connections.delete(made),
      });
      if (!signal?.aborted) connections.add(made);
      return withActions(made, (name, args) => made.action({ name, args }));
    },
    /** A raw WebSocket to the actor's `onWebSocket`; resolves before it is open. */
    webSocket: async (path = "", _protocols?: string | string[], given: ActorGatewayOptions = {}) =>
      socket(`/websocket/${path.replace(/^\/+/, "")}`, { skipReadyWait: optionsOf(given).skipReadyWait }),
  };
  return withActions(members, (name, args) => action({ name, args }));
}

function anySignal(a: AbortSignal | undefined, b: AbortSignal | undefined): AbortSignal | undefined {
  return a && b && a !== b ? AbortSignal.any([a, b]) : (a ?? b);
}
