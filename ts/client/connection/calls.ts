/**
 * The actions of a connection: waiting to be sent, and sent and unanswered.
 *
 * A call that was sent and lost its socket is rejected, since nobody knows whether
 * it ran; a call that still waits is sent once there is a socket again. Both
 * keep their order.
 */
import type { ActorError } from "../../errors/actor-error";
import { tooManyCalls } from "../../errors/raised";

/** Calls that may wait for a socket. */
const WAITING_MAX = 1_000;

export interface Call {
  readonly name: string;
  readonly args: readonly unknown[];
  settle(outcome: { output: unknown } | { error: unknown }): void;
}

export class Calls {
  readonly #sent = new Map<number, Call>();
  #waiting: Call[] = [];
  #nextId = 0;

  /** Makes a call and returns its result. `changed` runs if it has to be sent. */
  make(name: string, args: readonly unknown[], signal: AbortSignal | undefined, changed: () => void): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason);
      if (this.#waiting.length >= WAITING_MAX) return reject(tooManyCalls(WAITING_MAX));
      const onAbort = () => {
        this.#forget(call);
        call.settle({ error: signal?.reason });
      };
      const call: Call = {
        name,
        args,
        settle(outcome) {
          signal?.removeEventListener("abort", onAbort);
          if ("error" in outcome) reject(outcome.error);
          else resolve(outcome.output);
        },
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#waiting.push(call);
      changed();
    });
  }

  /** Sends what waits. A call that cannot be encoded fails alone. */
  flush(send: (id: number, call: Call) => void): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const call of waiting) {
      const id = this.#nextId++;
      try {
        send(id, call);
        this.#sent.set(id, call);
      } catch (error) {
        call.settle({ error });
      }
    }
  }

  /** Settles a call that was sent; false if nobody waits for it. */
  answer(id: number, outcome: { output: unknown } | { error: unknown }): boolean {
    const call = this.#sent.get(id);
    this.#sent.delete(id);
    call?.settle(outcome);
    return call !== undefined || id < this.#nextId;
  }

  /** Rejects what was sent: its socket is gone. */
  rejectSent(error: ActorError): void {
    const sent = [...this.#sent.values()];
    this.#sent.clear();
    for (const call of sent) call.settle({ error });
  }

  /** Rejects everything: there will be no other socket. */
  rejectAll(error: ActorError): void {
    this.rejectSent(error);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const call of waiting) call.settle({ error });
  }

  get pending(): number {
    return this.#sent.size + this.#waiting.length;
  }

  #forget(call: Call): void {
    this.#waiting = this.#waiting.filter((other) => other !== call);
    for (const [id, other] of this.#sent) if (other === call) this.#sent.delete(id);
  }
}
