/** What a connection has besides its actions. */
import type { Connection } from "./connection";

type Listener = (...args: never[]) => void;

interface Call {
  name: string;
  args?: unknown[];
  signal?: AbortSignal;
}

/** `send` is the handle's: messages for the queue do not go through the socket. */
export function connectionMembers(connection: Connection, send: unknown): object {
  return {
    action: ({ name, args = [], signal }: Call) => connection.action(name, args, signal),
    send,
    on: (event: string, listener: Listener) => connection.on(event, listener),
    once: (event: string, listener: Listener) => connection.on(event, listener, true),
    onError: (listener: Listener) => connection.onOwn("error", listener),
    onOpen: (listener: Listener) => connection.onOwn("open", listener),
    onClose: (listener: Listener) => connection.onOwn("close", listener),
    onStatusChange: (listener: Listener) => connection.onOwn("status", listener),
    get connStatus() {
      return connection.status;
    },
    get connectionId() {
      return connection.connectionId;
    },
    get actorId() {
      return connection.actorId;
    },
    ready: connection.ready,
    dispose: () => connection.dispose(),
  };
}
