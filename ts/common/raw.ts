/**
 * The way back from a write-through proxy to the value behind it.
 *
 * Proxies of `c.state` and `conn.state` register here when they are made, so
 * that codecs and database bindings, which need the real Map or Uint8Array, can
 * look behind them without knowing how the proxies work.
 */
const targets = new WeakMap<object, object>();

export function registerProxy(proxy: object, target: object): void {
  targets.set(proxy, target);
}

/** The value behind a proxy; any other value is returned as it is. */
export function toRaw<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  return (targets.get(value) as T | undefined) ?? value;
}
