/**
 * A connection that stays: it opens its socket, opens another when that one is
 * lost, and tells the actor again what it listens to.
 *
 * Only an answer that will not change ends it (`actor/not_found`, a hook that said
 * no) or `dispose`; then everything that waits is rejected, and so is whatever is
 * asked of it later.
 */
import { ActorError, type ActorErrorLike } from "../../errors/actor-error";
import { connectionDisposed, connectionLost, invalidMessage } from "../../errors/raised";
import type { MessageFormat, ServerMessage } from "../../wire/format";
import type { ClientSocket } from "../socket";
import type { ActorConnStatus } from "../types";
import { Backoff } from "./backoff";
import { Calls } from "./calls";
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
  readonly #events = new Listeners();
  readonly #own = new Listeners();
  readonly #calls = new Calls();
  readonly #backoff = new Backoff();
  readonly ready: Promise<void>;
  #settleReady!: (error?: unknown) => void;
  #status: ActorConnStatus = "idle";
  #socket: ClientSocket | undefined;
  /** Known before there is a socket. */
  #format!: MessageFormat;
  /** Set while messages may be sent: from Init to the end of the socket. */
  #live = false;
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
    this.ready = new Promise((resolve, reject) => {
      this.#settleReady = (error) => (error === undefined ? resolve() : reject(error));
    });
    // Nobody has to wait for it.
    this.ready.catch(() => undefined);
    parts.signal?.addEventListener("abort", this.#onAbort, { once: true });
    if (parts.signal?.aborted === true) this.#onAbort();
    else void this.#connect();
  }

  get status(): ActorConnStatus {
    return this.#status;
  }

  async action(name: string, args: readonly unknown[], signal?: AbortSignal): Promise<unknown> {
    if (this.#ended !== undefined) throw this.#ended;
    return this.#calls.make(name, args, signal, () => this.#flush());
  }

  on(event: string, listener: (...args: never[]) => void, once = false): () => void {
    return this.#events.add(event, listener, once, (subscribe) => this.#subscribe(event, subscribe));
  }

  onOwn(event: ConnectionEvent, listener: (...args: never[]) => void): () => void {
    return this.#own.add(event, listener, false);
  }

  /** Says goodbye and ends; resolves when the socket is closed. */
  async dispose(): Promise<void> {
    const socket = this.#socket;
    if (socket === undefined || socket.readyState === 3) return this.#end(connectionDisposed());
    const gone = new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, GOODBYE_MS);
      this.#onSocketGone = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#end(connectionDisposed());
    socket.close(1000, "Disposed");
    await gone;
  }

  #onAbort = (): void => {
    this.#end(connectionDisposed(this.#parts.signal?.reason));
    this.#socket?.close(1000, "Disposed");
  };

  async #connect(): Promise<void> {
    this.#setStatus("connecting");
    let opening: Opening;
    try {
      opening = await this.#parts.open();
    } catch (error) {
      if (error instanceof ActorError && !error.retryable) this.#end(error);
      else this.#reconnectLater();
      return;
    }
    const { socket } = opening;
    if (this.#ended !== undefined) {
      silence(socket);
      return socket.close(1000, "Disposed");
    }
    this.#socket = socket;
    this.#format = opening.format;
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => this.#receive(socket, data);
    // Some platforms report a refused handshake as an error and never close.
    socket.onerror = () => {
      if (socket.readyState !== 1) this.#lost(socket, 1006, "");
    };
    socket.onclose = ({ code, reason }) => this.#lost(socket, code, reason);
  }

  #receive(socket: ClientSocket, data: unknown): void {
    if (socket !== this.#socket || this.#ended !== undefined) return;
    let message: ServerMessage;
    try {
      message = this.#format.read(typeof data === "string" ? data : new Uint8Array(data as ArrayBuffer));
    } catch (error) {
      this.#emitError(invalidMessage(error));
      socket.close(1000, "client.invalid_response");
      return;
    }
    switch (message.kind) {
      case "init":
        return this.#opened(message.actorId, message.connectionId);
      case "event":
        if (this.#events.emit(message.name, message.args)) this.#subscribe(message.name, false);
        return;
      case "answer":
        this.#answered(message.id, { output: message.output });
        return;
      case "error":
        return this.#refused(message);
    }
  }

  #opened(actorId: string, connectionId: string): void {
    this.actorId = actorId;
    this.connectionId = connectionId;
    this.#live = true;
    this.#openedAt = Date.now();
    for (const event of this.#events.names()) this.#subscribe(event, true);
    this.#flush();
    this.#settleReady();
    this.#setStatus("connected");
    this.#own.emit("open", []);
  }

  #answered(id: number, outcome: { output: unknown } | { error: unknown }): void {
    if (!this.#calls.answer(id, outcome)) this.#emitError(invalidMessage(new Error(`nobody asked for ${id}`)));
  }

  #refused({ error, actionId }: ServerMessage & { kind: "error" }): void {
    const failure = actorError(error);
    if (actionId !== undefined) return this.#answered(actionId, { error: failure });
    if (this.#live) this.#emitError(failure);
    // Before Init: the reason of the close that follows.
    else this.#rejection = failure;
  }

  #lost(socket: ClientSocket, code: number, reason: string): void {
    if (socket !== this.#socket) return;
    silence(socket);
    const wasLive = this.#live;
    this.#socket = undefined;
    this.#live = false;
    this.#onSocketGone?.();
    if (this.#ended !== undefined) return;
    const told = this.#rejection ?? reasonError(reason);
    this.#rejection = undefined;
    this.#calls.rejectSent(connectionLost(code, reason, told));
    if (told !== undefined && (wasLive || !told.retryable)) this.#emitError(told);
    if (wasLive) this.#own.emit("close", []);
    if (!wasLive && told !== undefined && !told.retryable) return this.#end(told);
    if (wasLive && Date.now() - this.#openedAt >= STABLE_MS) this.#backoff.reset();
    this.#reconnectLater();
  }

  #reconnectLater(): void {
    if (this.#ended !== undefined) return;
    this.#setStatus("disconnected");
    this.#timer = setTimeout(() => void this.#connect(), this.#backoff.next());
  }

  #subscribe(event: string, subscribe: boolean): void {
    if (this.#live) this.#socket?.send(this.#format.subscription(event, subscribe));
  }

  #flush(): void {
    const socket = this.#socket;
    if (!this.#live || socket === undefined) return;
    this.#calls.flush((id, { name, args }) => socket.send(this.#format.action(id, name, args)));
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
    if (this.#ended !== undefined) return;
    this.#ended = error;
    clearTimeout(this.#timer);
    this.#parts.signal?.removeEventListener("abort", this.#onAbort);
    const wasLive = this.#live;
    this.#live = false;
    this.#calls.rejectAll(error);
    this.#settleReady(error);
    this.#setStatus("idle");
    if (wasLive) this.#own.emit("close", []);
    this.#parts.onEnd?.();
  }
}

function silence(socket: ClientSocket): void {
  socket.onmessage = null;
  socket.onclose = null;
  // An unheard error of a socket must not count as unhandled.
  socket.onerror = () => undefined;
}

export function actorError({ group, code, message, metadata, actor }: ActorErrorLike, rayId?: string): ActorError {
  return new ActorError(group, code, message, {
    public: true,
    ...(metadata !== undefined && { metadata }),
    ...(actor !== undefined && { actor }),
    ...(rayId !== undefined && { rayId }),
  });
}

/** The error that a close reason names: `group.code`, or `group.code#ray`. */
export function reasonError(reason: string): ActorError | undefined {
  const match = /^([^.#]+)\.([^.#]+)(?:\.[^#]*)?(?:#(.*))?$/.exec(reason);
  if (match === null) return undefined;
  const [, group = "", code = "", rayId] = match;
  const message = `The connection was closed: ${group}/${code}`;
  return actorError({ group, code, message }, rayId);
}
