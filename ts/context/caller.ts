/**
 * Keeps the async context of a caller (AsyncLocalStorage) through native code:
 * an action called in this process runs in the context it was called from.
 *
 * Native code carries a number; the context it stands for waits here, from the
 * call until its answer.
 */
import { AsyncLocalStorage } from "node:async_hooks";

type Snapshot = <T>(run: () => T) => T;

export class CallerContexts {
  readonly #waiting = new Map<number, Snapshot>();
  #lastId = 0;

  /** Makes a call with an id under which {@link run} finds this context. */
  async enter<T>(call: (callerId: number) => Promise<T>): Promise<T> {
    // Wraps long before a number loses precision, long after an id is free again.
    this.#lastId = (this.#lastId + 1) % 0x7fff_ffff;
    const id = this.#lastId;
    this.#waiting.set(id, AsyncLocalStorage.snapshot() as Snapshot);
    try {
      return await call(id);
    } finally {
      this.#waiting.delete(id);
    }
  }

  /** Runs in the context of a caller; without one, or once it has gone, as it is. */
  run<T>(callerId: number | null | undefined, run: () => T): T {
    const snapshot = callerId == null ? undefined : this.#waiting.get(callerId);
    return snapshot === undefined ? run() : snapshot(run);
  }
}
