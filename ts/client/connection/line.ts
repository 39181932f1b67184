/**
 * What a connection speaks through: opens a socket, opens another when that one is
 * lost, and tells the actor again what is listened to.
 *
 * Only an answer that will not change ends the connection (`actor/not_found`, a hook
 * that said no), or whoever holds it; then everything that waits is rejected.
 */
import { ActorError } from "../../errors/actor-error";
import { Backoff } from "./backoff";
import { newCalls } from "./calls";
import type { Opening } from "./connection";
import { type Conversation, converse, type Loss, sayGoodbye, silence } from "./conversation";
import type { Life } from "./life";
import type { Listeners } from "./listeners";

/** Time for the server to answer a goodbye. */
const GOODBYE_MS = 1_000;
/** A connection that lasted this long counts as good: the next attempt is quick. */
const STABLE_MS = 5_000;

export type Line = ReturnType<typeof openLine>;

/** Opens its first socket at once; `open` fails if there can be none. */
export function openLine(life: Life, events: Listeners, open: () => Promise<Opening>) {
  const { over } = life;
  const calls = newCalls();
  const backoff = new Backoff();
  let talk: Conversation | undefined;
  let gone: Promise<void> | undefined;
  let onSocketGone: (() => void) | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const connect = async (): Promise<void> => {
    life.become("connecting");
    try {
      const opening = await open();
      if (!over.aborted) {
        talk = converse(opening, { life, events, calls }, lost);
        return;
      }
      silence(opening.socket);
      sayGoodbye(opening.socket);
    } catch (error) {
      if (error instanceof ActorError && !error.retryable) life.end(error);
      else reconnectLater();
    }
  };
  const lost = ({ since, told, error }: Loss): void => {
    talk = undefined;
    onSocketGone?.();
    if (over.aborted) return;
    calls.reject(error);
    const isFinal = told && !told.retryable;
    if (told && (since || isFinal)) life.own.emit("error", [told]);
    if (since) life.closed();
    else if (isFinal) return life.end(told);
    if (since && Date.now() - since >= STABLE_MS) backoff.reset();
    reconnectLater();
  };
  const reconnectLater = (): void => {
    if (over.aborted) return;
    life.become("disconnected");
    timer = setTimeout(connect, backoff.next());
  };

  over.addEventListener("abort", () => {
    clearTimeout(timer);
    calls.reject(over.reason, true);
    talk?.end();
  });
  void connect();
  return {
    action: (name: string, args: readonly unknown[], signal?: AbortSignal) =>
      calls.make(name, args, signal, () => talk?.flush()),
    subscribe: (event: string, subscribe: boolean) => talk?.subscribe(event, subscribe),
    /** Resolves when the socket is closed, or has not closed for too long. */
    async closed(): Promise<void> {
      if (!talk) return;
      gone ??= new Promise((resolve) => {
        const patience = setTimeout(resolve, GOODBYE_MS);
        onSocketGone = () => {
          clearTimeout(patience);
          resolve();
        };
      });
      await gone;
    },
  };
}
