/** Who listens to which event, and to the connection itself. */

type Listener = (...args: never[]) => void;

/** Listeners by name; removing one while it is called is fine. */
export class Listeners {
  readonly #byName = new Map<string, Set<{ call: Listener; once: boolean }>>();

  /** `changed` hears of a name's first listener and of the loss of its last. */
  add(name: string, call: Listener, once: boolean, changed: (subscribed: boolean) => void = () => {}): () => void {
    const entry = { call, once };
    const entries = this.#byName.get(name) ?? new Set();
    this.#byName.set(name, entries);
    entries.add(entry);
    if (entries.size === 1) changed(true);
    return () => {
      if (entries.delete(entry) && entries.size === 0 && this.#byName.get(name) === entries) {
        this.#byName.delete(name);
        changed(false);
      }
    };
  }

  names(): string[] {
    return [...this.#byName.keys()];
  }

  /**
   * Calls the listeners of a name in the order they came. What one of them throws
   * concerns neither the others nor the connection. Returns whether the last of
   * them was used up.
   */
  emit(name: string, args: readonly unknown[]): boolean {
    const entries = this.#byName.get(name);
    if (entries === undefined) return false;
    for (const entry of [...entries]) {
      if (!entries.has(entry)) continue;
      if (entry.once) entries.delete(entry);
      try {
        entry.call(...(args as never[]));
      } catch (error) {
        report(error);
      }
    }
    if (entries.size > 0 || this.#byName.get(name) !== entries) return false;
    this.#byName.delete(name);
    return true;
  }
}

/** As the platform reports what an event listener threw. */
function report(error: unknown): void {
  const platform = globalThis as { reportError?: (error: unknown) => void };
  if (platform.reportError !== undefined) platform.reportError(error);
  else console.error(error);
}
