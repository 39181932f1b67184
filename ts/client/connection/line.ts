/**
 * What a connection speaks through: opens a socket, opens another when that one is
 * lost, and tells the actor again what is listened to.
 *
 * Only an answer that will not change ends the connection (`actor/not_found`, a hook
 * that said no), or whoever holds it; then everything that waits is rejected.
 */
import { ActorError } from "../../errors/actor-error";
import { remoteError } from "../../errors/client";
import { connectionLost, invalidMessage } from "../../errors/connection";
import type { ServerMessage } from "../../wire/format";
import type { ClientSocket } from "../socket";
import { Backoff } from "./backoff";
import { Calls, type Outcome } from "./calls";
import type { Opening } from "./connection";
import type { Life } from "./life";
import type { Listeners } from "./listeners";

/** Time for the server to answer a goodbye. */
const GOODBYE_MS = 1_000;
/** A connection that lasted this long counts as good: the next attempt is quick. */
const STABLE_MS = 5_000;

export class Line {
  readonly #life: Life;
  readonly #events: Listeners;
  readonly #open: () => Promise<Opening>;
  readonly #calls = new Calls();
  readonly #backoff = new Backoff();
  #opening: Opening | undefined;
  /** Set while messages may be sent: from Init to the end of the socket. */
  #live: Opening | undefined;
  #openedAt = 0;
  /** Why the actor said no, until the close that follows. */
  #rejection: ActorError | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #onSocketGone: (() => void) | undefined;

  /** Opens its first socket at once; `open` fails if there can be none. */
  constructor(life: Life, events: Listeners, open: () => Promise<Opening>) {
    this.#life = life;
    this.#events = events;
    this.#open = open;
    life.over.addEventListener("abort", () => this.#end());
    void this.#connect();
  }

  action(name: string, args: readonly unknown[], signal?: AbortSignal): Promise<unknown> {
    return this.#calls.make(name, args, signal, () => this.#flush());
  }

  subscribe(event: string, subscribe: boolean): void {
    this.#live?.socket.send(this.#live.format.subscription(event, subscribe));
  }

  /** Resolves when the socket is closed, or has not closed for too long. */
  async closed(): Promise<void> {
    const socket = this.#opening?.socket;
    if (!socket || socket.readyState === 3) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, GOODBYE_MS);
      this.#onSocketGone = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async #connect(): Promise<void> {
    this.#life.become("connecting");
    try {
      const opening = await this.#open();
      if (!this.#life.over.aborted) return this.#listen(opening);
      silence(opening.socket);
      sayGoodbye(opening.socket);
    } catch (error) {
      if (error instanceof ActorError && !error.retryable) this.#life.end(error);
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
    if (opening !== this.#opening || this.#life.over.aborted) return;
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
    this.#live = opening;
    this.#openedAt = Date.now();
    for (const event of this.#events.names()) this.subscribe(event, true);
    this.#flush();
    this.#life.opened(actorId, connectionId);
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
    if (this.#life.over.aborted) return;
    const told = this.#rejection ?? reasonError(reason);
    this.#rejection = undefined;
    this.#calls.reject(connectionLost(code, reason, told));
    const isFinal = told && !told.retryable;
    if (told && (wasLive || isFinal)) this.#emitError(told);
    if (wasLive) this.#life.closed();
    else if (isFinal) return this.#life.end(told);
    if (wasLive && Date.now() - this.#openedAt >= STABLE_MS) this.#backoff.reset();
    this.#reconnectLater();
  }

  #reconnectLater(): void {
    if (this.#life.over.aborted) return;
    this.#life.become("disconnected");
    this.#timer = setTimeout(() => void this.#connect(), this.#backoff.next());
  }

  #flush(): void {
    const live = this.#live;
    if (live) this.#calls.flush((id, { name, args }) => live.socket.send(live.format.action(id, name, args)));
  }

  #emitError(error: ActorError): void {
    this.#life.own.emit("error", [error]);
  }

  /** The connection is over for good. */
  #end(): void {
    clearTimeout(this.#timer);
    this.#live = undefined;
    this.#calls.reject(this.#life.over.reason, true);
    if (this.#opening) sayGoodbye(this.#opening.socket);
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
