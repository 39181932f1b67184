/** The smallest helpers for objects. */

/** Anything with properties, arrays included. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** Sets those properties that are defined, so that the others stay absent. */
export function assignDefined<T extends object>(target: T, source: { readonly [name: string]: unknown }): T {
  for (const name in source) if (source[name] !== undefined) target[name as keyof T] = source[name] as T[keyof T];
  return target;
}
