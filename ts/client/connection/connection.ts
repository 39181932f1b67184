/**
 * A connection as a program holds it.
 *
 * What opens its sockets and speaks through them is `line.ts`, which a page loads
 * with its first connection; until that is here, calls and listeners wait as they
 * would for a socket.
 */
import { pause, unlessAborted } from "../../common/abort";
import { checkWaiting, connectionDisposed } from "../../errors/client";
import type { MessageFormat } from "../../wire/format";
import type { ClientSocket } from "../socket";
import { Backoff } from "./backoff";
import { type Life, newLife } from "./life";
import type { Line, openLine } from "./line";
import { type Listener, type Listeners, newListeners } from "./listeners";

/** A socket, and how what goes through it is written. */
export interface Opening {
  readonly socket: ClientSocket;
  readonly format: MessageFormat;
}

export interface ConnectionParts {
  /** The code of lines; fails if it cannot be loaded now. */
  line(): Promise<typeof openLine>;
  /** Opens a socket to the actor; fails if there can be none, or once `over` has fired. */
  open(over: AbortSignal): Promise<Opening>;
  /** The handle's: messages for the queue do not go through the socket. */
  readonly send?: unknown;
  /** Ends the connection when it fires. */
  readonly signal?: AbortSignal | undefined;
  /** The connection is over for good; not told of one that was so from the first. */
  onEnd?(): void;
}

interface Call {
  name: string;
  args?: unknown[];
  signal?: AbortSignal | undefined;
}

/** What a connection has besides its actions. */
export type Connection = ReturnType<typeof connection>;

export function connection(parts: ConnectionParts) {
  const { signal, send, onEnd } = parts;
  const life = newLife();
  const { over, own, ready } = life;
  const events = newListeners((event, subscribe) => line?.subscribe(event, subscribe));
  let line: Line | undefined;
  /** Calls that wait for the line itself. */
  let early = 0;

  const onAbort = () => life.end(connectionDisposed(signal?.reason));
  signal?.addEventListener("abort", onAbort, { signal: over });
  if (signal?.aborted) onAbort();
  // After that: whoever asked for it does not have the connection yet.
  if (onEnd) over.addEventListener("abort", onEnd);
  const started = unlessAborted(start(parts, life, events), over);
  started.then(
    (made) => {
      line = made;
    },
    () => {},
  );

  const listener = (event: string) => (listener: Listener) => own.add(event, listener);
  return {
    async action({ name, args = [], signal }: Call): Promise<unknown> {
      over.throwIfAborted();
      if (line) return line.action(name, args, signal);
      checkWaiting(early);
      early++;
      try {
        // All of them by the one promise: in their order, and before any later call.
        const made = started.then((line) => line.action(name, args, signal));
        return await unlessAborted(made, signal);
      } finally {
        early--;
      }
    },
    send,
    on: (event: string, listener: Listener) => events.add(event, listener),
    once: (event: string, listener: Listener) => events.add(event, listener, true),
    onError: listener("error"),
    onOpen: listener("open"),
    onClose: listener("close"),
    onStatusChange: listener("status"),
    get connStatus() {
      return life.status;
    },
    get connectionId() {
      return life.connectionId;
    },
    get actorId() {
      return life.actorId;
    },
    ready,
    /** Says goodbye and ends; resolves when the socket is closed. */
    async dispose(): Promise<void> {
      life.end(connectionDisposed());
      await line?.closed();
    },
  };
}

/** Loads the code of lines, as patiently as a line opens sockets: the page may be offline. */
async function start({ line, open }: ConnectionParts, life: Life, events: Listeners): Promise<Line> {
  const backoff = new Backoff();
  for (;;) {
    life.over.throwIfAborted();
    life.become("connecting");
    const openLine = await line().catch(() => undefined);
    life.over.throwIfAborted();
    if (openLine) return openLine(life, events, () => open(life.over));
    life.become("disconnected");
    await pause(backoff.next(), life.over);
  }
}
