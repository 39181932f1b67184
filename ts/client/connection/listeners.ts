/** Who listens to which event, and to the connection itself. */

export type Listener = (...args: never[]) => void;

export type Listeners = ReturnType<typeof newListeners>;

/**
 * Listeners by name; removing one while it is called is fine. `changed` hears of a
 * name's first listener and of the loss of its last.
 */
export function newListeners(changed?: (name: string, subscribed: boolean) => void) {
  const byName = new Map<string, Set<{ call: Listener; once: boolean }>>();
  const tidy = (name: string): void => {
    if (byName.get(name)?.size === 0) {
      byName.delete(name);
      changed?.(name, false);
    }
  };

  return {
    add(name: string, call: Listener, once = false): () => void {
      const entry = { call, once };
      const entries = byName.get(name) ?? new Set();
      byName.set(name, entries.add(entry));
      if (entries.size === 1) changed?.(name, true);
      return () => {
        if (entries.delete(entry)) tidy(name);
      };
    },

    names: (): Iterable<string> => byName.keys(),

    /**
     * Calls the listeners of a name in the order they came. What one of them throws
     * concerns neither the others nor the connection.
     */
    emit(name: string, args: readonly unknown[] = []): void {
      const entries = byName.get(name) ?? new Set();
      for (const entry of [...entries]) {
        if (!entries.has(entry)) continue;
        if (entry.once) entries.delete(entry);
        try {
          entry.call(...(args as never[]));
        } catch (error) {
          // As the platform reports what an event listener threw.
          ((globalThis as { reportError?: (error: unknown) => void }).reportError ?? console.error)(error);
        }
      }
      // Only now: a listener for one event may have asked for the next one, too.
      tidy(name);
    },
  };
}
