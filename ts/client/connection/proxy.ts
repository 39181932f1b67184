/** A connection with typed actions: every property that is none of its own is one. */
import type { HandleCore } from "../handle";
import type { Connection } from "./connection";

type Listener = (...args: never[]) => void;

/** What a connection itself has. */
function members(connection: Connection, handle: HandleCore): Record<string, () => unknown> {
  const own = (event: "open" | "close" | "error" | "status") => (listener: Listener) =>
    connection.onOwn(event, listener);
  return {
    action:
      () =>
      ({ name, args = [], signal }: { name: string; args?: unknown[]; signal?: AbortSignal }) =>
        connection.action(name, args, signal),
    send: () => handle.send.bind(handle),
    on: () => (event: string, listener: Listener) => connection.on(event, listener),
    once: () => (event: string, listener: Listener) => connection.on(event, listener, true),
    onError: () => own("error"),
    onOpen: () => own("open"),
    onClose: () => own("close"),
    onStatusChange: () => own("status"),
    connStatus: () => connection.status,
    connectionId: () => connection.connectionId,
    actorId: () => connection.actorId,
    ready: () => connection.ready,
    dispose: () => () => connection.dispose(),
  };
}

export function connectionProxy(connection: Connection, handle: HandleCore): object {
  const known = members(connection, handle);
  return new Proxy(connection, {
    get: (_, property) => {
      if (typeof property === "string" && Object.hasOwn(known, property)) return known[property]?.();
      return action(connection, "", property);
    },
    has: (_, property) => typeof property === "string" && Object.hasOwn(known, property),
  });
}

function action(connection: Connection, prefix: string, property: PropertyKey): unknown {
  // A connection must not look like a promise, nor like anything symbols ask for.
  if (typeof property === "symbol" || property === "then") return undefined;
  const name = prefix + String(property);
  const call = (...args: unknown[]) => connection.action(name, args);
  return new Proxy(call, { get: (_, inner) => action(connection, `${name}.`, inner) });
}
