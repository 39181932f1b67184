/**
 * Lets a bounded number of calls into native code at a time, in their order.
 * Native code answers more than 128 with an error; a program that starts ten
 * thousand statements at once should not have to know.
 */
export class Turnstile {
  readonly #waiting = new Map<number, () => void>();
  #free: number;
  #first = 0;
  #next = 0;

  constructor(limit: number) {
    this.#free = limit;
  }

  async pass<T>(work: () => Promise<T>): Promise<T> {
    if (!this.tryEnter()) await this.enter();
    try {
      return await work();
    } finally {
      this.leave();
    }
  }

  /** Goes in if there is room; then {@link leave} must follow. */
  tryEnter(): boolean {
    if (this.#free === 0) return false;
    this.#free--;
    return true;
  }

  /** Waits for its turn; then {@link leave} must follow. */
  enter(): Promise<void> {
    return new Promise((enter) => this.#waiting.set(this.#next++, enter));
  }

  /** Hands the place to the one who waited longest, so that nobody overtakes. */
  leave(): void {
    const enter = this.#waiting.get(this.#first);
    if (enter === undefined) {
      this.#free++;
      return;
    }
    this.#waiting.delete(this.#first++);
    enter();
  }
}
