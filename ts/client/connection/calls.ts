/**
 * The actions of a connection: waiting to be sent, and sent and unanswered.
 *
 * A call that was sent and lost its socket is rejected, since nobody knows whether
 * it ran; a call that still waits is sent once there is a socket again. Both
 * keep their order.
 */
import { checkWaiting } from "../../errors/client";

export interface Call {
  readonly name: string;
  readonly args: readonly unknown[];
  settle(outcome: Outcome): void;
}

export type Outcome = { readonly output: unknown } | { readonly error: unknown };

export type Calls = ReturnType<typeof newCalls>;

export function newCalls() {
  const waiting = new Map<number, Call>();
  const sent = new Map<number, Call>();
  let nextId = 0;

  return {
    /** Makes a call and returns its result. `changed` runs if it has to be sent. */
    make: (name: string, args: readonly unknown[], signal: AbortSignal | undefined, changed: () => void) =>
      new Promise<unknown>((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        checkWaiting(waiting.size);
        const id = nextId++;
        const settle = (outcome: Outcome) => {
          waiting.delete(id);
          sent.delete(id);
          signal?.removeEventListener("abort", onAbort);
          if ("error" in outcome) reject(outcome.error);
          else resolve(outcome.output);
        };
        const onAbort = () => settle({ error: signal?.reason });
        signal?.addEventListener("abort", onAbort);
        waiting.set(id, { name, args, settle });
        changed();
      }),

    /** Sends what waits. A call that cannot be encoded fails alone. */
    flush(send: (id: number, call: Call) => void): void {
      for (const [id, call] of waiting) {
        waiting.delete(id);
        sent.set(id, call);
        try {
          send(id, call);
        } catch (error) {
          call.settle({ error });
        }
      }
    },

    /** Settles a call that was sent; false if nobody ever made it. An answer that comes too late is no error. */
    answer(id: number, outcome: Outcome): boolean {
      sent.get(id)?.settle(outcome);
      return id < nextId;
    },

    /** Rejects what was sent, for its socket is gone, and with `all` what waits: there will be no other. */
    reject(error: unknown, all = false): void {
      for (const call of [...sent.values(), ...(all ? waiting.values() : [])]) call.settle({ error });
    },
  };
}
