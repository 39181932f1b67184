/**
 * How long to wait before the next attempt to connect.
 *
 * Grows while attempts fail and is spread at random, so that the clients of a
 * server that came back do not arrive in one moment.
 */
const FIRST_MS = 250;
const MAX_MS = 30_000;

export class Backoff {
  #attempts = 0;

  /** Milliseconds; between half and the whole of a span that doubles each time. */
  next(random: () => number = Math.random): number {
    const span = Math.min(FIRST_MS * 2 ** this.#attempts, MAX_MS);
    // Beyond this the span no longer grows.
    if (this.#attempts < 10) this.#attempts++;
    return span / 2 + random() * (span / 2);
  }

  reset(): void {
    this.#attempts = 0;
  }
}
