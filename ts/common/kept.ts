/**
 * Requests that are to live as long as something else.
 *
 * The signal of a `Request` follows the one that it was made with only while the request
 * itself is in memory: once the garbage collector takes it, whoever listens to its signal
 * hears nothing more, and a `fetch` that was given the signal goes on for ever.
 */
const kept = new WeakMap<object, unknown[]>();

export function keepWith(owner: object | null, ...requests: unknown[]): void {
  if (owner !== null) kept.set(owner, requests);
}
