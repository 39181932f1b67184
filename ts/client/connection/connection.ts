/**
 * A connection that stays: it opens its socket, opens another when that one is
 * lost, and tells the actor again what it listens to.
 *
 * Only an answer that will not change ends it (`actor/not_found`, a hook that said
 * no) or `dispose`; then everything that waits is rejected, and so is whatever is
 * asked of it later.
 */
import { ActorError } from "../../errors/actor-error";
import { connectionDisposed, connectionLost, invalidMessage, remoteError } from "../../errors/raised";
import type { MessageFormat, ServerMessage } from "../../wire/format";
import type { ClientSocket } from "../socket";
import type { ActorConnStatus } from "../types";
import { Backoff } from "./backoff";
import { Calls, type Outcome } from "./calls";
import { Listeners } from "./listeners";

/** A socket, and how what goes through it is written. */
export interface Opening {
  readonly socket: ClientSocket;
  readonly format: MessageFormat;
}

export interface ConnectionParts {
  /** Opens a socket to the actor; fails if there can be none. */
  open(): Promise<Opening>;
  /** Ends the connection when it fires. */
  readonly signal?: AbortSignal | undefined;
  /** The connection is over for good. */
  onEnd?(): void;
}

/** Time for the server to answer a goodbye. */
const GOODBYE_MS = 1_000;
/** A connection that lasted this long counts as good: the next attempt is quick. */
const STABLE_MS = 5_000;

type ConnectionEvent = "open" | "close" | "error" | "status";

export class Connection {
  readonly #parts: ConnectionParts;
  readonly #events = new Listeners((event, subscribe) => this.#subscribe(event, subscribe));
  readonly #own = new Listeners();
  readonly #calls = new Calls();
  readonly #backoff = new Backoff();
  readonly ready: Promise<void>;
  #settleReady!: (error?: unknown) => void;
  #status: ActorConnStatus = "idle";
  #opening: Opening | undefined;
  /** Set while messages may be sent: from Init to the end of the socket. */
  #live: Opening | undefined;
  #openedAt = 0;
  /** Why the actor said no, until the close that follows. */
  #rejection: ActorError | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #ended: ActorError | undefined;
  #onSocketGone: (() => void) | undefined;
  actorId: string | undefined;
  connectionId: string | undefined;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
    const { signal } = parts;
    this.ready = new Promise((resolve, reject) => {
      this.#settleReady = (error) => (error ? reject(error) : resolve());
    });
    // Nobody has to wait for it.
    this.ready.catch(() => {});
    signal?.addEventListener("abort", this.#onAbort);
    if (signal?.aborted) this.#onAbort();
    else void this.#connect();
  }

  get status(): ActorConnStatus {
    return this.#status;
  }

  async action(name: string, args: readonly unknown[], signal?: AbortSignal): Promise<unknown> {
    if (this.#ended) throw this.#ended;
    return this.#calls.make(name, args, signal, () => this.#flush());
  }

  on(event: string, listener: (...args: never[]) => void, once = false): () => void {
    return this.#events.add(event, listener, once);
  }

  onOwn(event: ConnectionEvent, listener: (...args: never[]) => void): () => void {
    return this.#own.add(event, listener);
  }

  /** Says goodbye and ends; resolves when the socket is closed. */
  async dispose(): Promise<void> {
    const socket = this.#opening?.socket;
    this.#end(connectionDisposed());
    if (!socket || socket.readyState === 3) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, GOODBYE_MS);
      this.#onSocketGone = () => {
        clearTimeout(timer);
        resolve();
      };
      sayGoodbye(socket);
    });
  }

  #onAbort = (): void => {
    this.#end(connectionDisposed(this.#parts.signal?.reason));
    if (this.#opening) sayGoodbye(this.#opening.socket);
  };

  async #connect(): Promise<void> {
    this.#setStatus("connecting");
    try {
      const opening = await this.#parts.open();
      if (!this.#ended) return this.#listen(opening);
      silence(opening.socket);
      sayGoodbye(opening.socket);
    } catch (error) {
      if (error instanceof ActorError && !error.retryable) this.#end(error);
      else this.#reconnectLater();
    }
  }

  #listen(opening: Opening): void {
    const { socket } = opening;
    this.#opening = opening;
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => this.#receive(opening, data);
    // Some platforms report a refused handshake as an error and never close.
    socket.onerror = () => socket.readyState !== 1 && this.#lost(opening, 1006, "");
    socket.onclose = ({ code, reason }) => this.#lost(opening, code, reason);
  }

  #receive(opening: Opening, data: unknown): void {
    if (opening !== this.#opening || this.#ended) return;
    let message: ServerMessage;
    try {
      message = opening.format.read(typeof data === "string" ? data : new Uint8Array(data as ArrayBuffer));
    } catch (error) {
      this.#emitError(invalidMessage(error));
      return opening.socket.close(1000, "client.invalid_response");
    }
    switch (message.kind) {
      case "init":
        return this.#opened(opening, message);
      case "event":
        return this.#events.emit(message.name, message.args);
      case "answer":
        return this.#answered(message.id, message);
      case "error":
        return this.#refused(message);
    }
  }

  #opened(opening: Opening, { actorId, connectionId }: ServerMessage & { kind: "init" }): void {
    this.actorId = actorId;
    this.connectionId = connectionId;
    this.#live = opening;
    this.#openedAt = Date.now();
    for (const event of this.#events.names()) this.#subscribe(event, true);
    this.#flush();
    this.#settleReady();
    this.#setStatus("connected");
    this.#own.emit("open");
  }

  #answered(id: number, outcome: Outcome): void {
    if (!this.#calls.answer(id, outcome)) this.#emitError(invalidMessage(`nobody asked for ${id}`));
  }

  #refused({ error, actionId }: ServerMessage & { kind: "error" }): void {
    const failure = remoteError(error);
    if (actionId !== undefined) this.#answered(actionId, { error: failure });
    else if (this.#live) this.#emitError(failure);
    // Before Init: the reason of the close that follows.
    else this.#rejection = failure;
  }

  #lost(opening: Opening, code: number, reason: string): void {
    if (opening !== this.#opening) return;
    silence(opening.socket);
    const wasLive = this.#live;
    this.#opening = this.#live = undefined;
    this.#onSocketGone?.();
    if (this.#ended) return;
    const told = this.#rejection ?? reasonError(reason);
    this.#rejection = undefined;
    this.#calls.reject(connectionLost(code, reason, told));
    const isFinal = told && !told.retryable;
    if (told && (wasLive || isFinal)) this.#emitError(told);
    if (wasLive) this.#own.emit("close");
    else if (isFinal) return this.#end(told);
    if (wasLive && Date.now() - this.#openedAt >= STABLE_MS) this.#backoff.reset();
    this.#reconnectLater();
  }

  #reconnectLater(): void {
    if (this.#ended) return;
    this.#setStatus("disconnected");
    this.#timer = setTimeout(() => void this.#connect(), this.#backoff.next());
  }

  #subscribe(event: string, subscribe: boolean): void {
    this.#live?.socket.send(this.#live.format.subscription(event, subscribe));
  }

  #flush(): void {
    const live = this.#live;
    if (live) this.#calls.flush((id, { name, args }) => live.socket.send(live.format.action(id, name, args)));
  }

  #emitError(error: ActorError): void {
    this.#own.emit("error", [error]);
  }

  #setStatus(status: ActorConnStatus): void {
    if (status === this.#status) return;
    this.#status = status;
    this.#own.emit("status", [status]);
  }

  /** Ends the connection for good. */
  #end(error: ActorError): void {
    if (this.#ended) return;
    this.#ended = error;
    clearTimeout(this.#timer);
    this.#parts.signal?.removeEventListener("abort", this.#onAbort);
    const wasLive = this.#live;
    this.#live = undefined;
    this.#calls.reject(error, true);
    this.#settleReady(error);
    this.#setStatus("idle");
    if (wasLive) this.#own.emit("close");
    this.#parts.onEnd?.();
  }
}

function sayGoodbye(socket: ClientSocket): void {
  socket.close(1000, "Disposed");
}

function silence(socket: ClientSocket): void {
  socket.onmessage = null;
  socket.onclose = null;
  // An unheard error of a socket must not count as unhandled.
  socket.onerror = () => {};
}

/** The error that a close reason names: `group.code`, or `group.code#ray`. */
function reasonError(reason: string): ActorError | undefined {
  const [, group, code, rayId] = /^([^.#]+)\.([^.#]+)(?:\.[^#]*)?(?:#(.*))?$/.exec(reason) ?? [];
  if (!group || !code) return undefined;
  return remoteError({ group, code, message: `The connection was closed: ${group}/${code}` }, { rayId });
}
