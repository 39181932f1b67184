/** What is said through one socket: from its Init, or the actor's no, to its loss. */
import type { ActorError } from "../../errors/actor-error";
import { remoteError } from "../../errors/client";
import { connectionLost, invalidMessage } from "../../errors/connection";
import type { ServerMessage } from "../../wire/format";
import type { ClientSocket } from "../socket";
import type { Calls, Outcome } from "./calls";
import type { Opening } from "./connection";
import type { Life } from "./life";
import type { Listeners } from "./listeners";

/** Whom it concerns. */
export interface Parties {
  readonly life: Life;
  readonly events: Listeners;
  readonly calls: Calls;
}

/** How a socket was lost. */
export interface Loss {
  /** When the actor let it in, as the clock had it; 0 if it never did. */
  readonly since: number;
  /** What the actor or the host gave as the reason. */
  readonly told: ActorError | undefined;
  /** The error of the calls that were sent. */
  readonly error: ActorError;
}

/** Time for a close, which has a reason, to follow an error, which has none. */
const CLOSE_FOLLOWS_MS = 100;

export type Conversation = ReturnType<typeof converse>;

/** Listens to a socket that is about to open; `onLost` hears of its end. */
export function converse({ socket, format }: Opening, parties: Parties, onLost: (loss: Loss) => void) {
  const { life, events, calls } = parties;
  const { over } = life;
  /** When the actor let it in; 0 while no message may be sent. */
  let since = 0;
  /** Why the actor said no, until the close that follows. */
  let rejection: ActorError | undefined;

  const tell = (error: ActorError): void => life.own.emit("error", [error]);
  const subscribe = (event: string, subscribe: boolean): void => {
    if (since && !over.aborted) socket.send(format.subscription(event, subscribe));
  };
  const flush = (): void => {
    if (since) calls.flush((id, { name, args }) => socket.send(format.action(id, name, args)));
  };
  const answered = (id: number, outcome: Outcome): void => {
    if (!calls.answer(id, outcome)) tell(invalidMessage(`nobody asked for ${id}`));
  };
  const refused = ({ error, actionId }: ServerMessage & { kind: "error" }): void => {
    const failure = remoteError(error);
    if (actionId !== undefined) answered(actionId, { error: failure });
    else if (since) tell(failure);
    else rejection = failure;
  };
  const hear = (message: ServerMessage): void => {
    switch (message.kind) {
      case "init":
        since = Date.now();
        for (const event of events.names()) subscribe(event, true);
        flush();
        return life.opened(message.actorId, message.connectionId);
      case "event":
        return events.emit(message.name, message.args);
      case "answer":
        return answered(message.id, message);
      case "error":
        return refused(message);
    }
  };
  let failing: ReturnType<typeof setTimeout> | undefined;
  const lost = (code: number, reason: string): void => {
    clearTimeout(failing);
    silence(socket);
    const told = rejection ?? reasonError(reason);
    const loss = { since, told, error: connectionLost(code, reason, told) };
    since = 0;
    onLost(loss);
  };

  socket.binaryType = "arraybuffer";
  socket.onmessage = ({ data }) => {
    if (over.aborted) return;
    let message: ServerMessage;
    try {
      message = format.read(typeof data === "string" ? data : new Uint8Array(data as ArrayBuffer));
    } catch (error) {
      tell(invalidMessage(error));
      return socket.close(1000, "client.invalid_response");
    }
    hear(message);
  };
  // Some platforms report a refused handshake as an error and never close.
  socket.onerror = () => {
    if (socket.readyState !== 1) failing ??= setTimeout(lost, CLOSE_FOLLOWS_MS, 1006, "");
  };
  socket.onclose = ({ code, reason }) => lost(code, reason);
  return { subscribe, flush, end: () => sayGoodbye(socket) };
}

export function sayGoodbye(socket: ClientSocket): void {
  socket.close(1000, "Disposed");
}

export function silence(socket: ClientSocket): void {
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
