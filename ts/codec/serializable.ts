/**
 * What can be stored and sent: primitives, bigint, Date, RegExp, Error, binary
 * data, arrays, Map, Set and plain objects of the same. Not: functions, symbols,
 * class instances, cycles, or nesting deeper than {@link MAX_DEPTH}.
 */
import { isPlainObject } from "../common/plain";
import { toRaw } from "../common/raw";

/** Deepest nesting of containers that is encoded. */
export const MAX_DEPTH = 128;

export interface Culprit {
  /** Way to the value, e.g. `args[0].user.fn`. */
  path: string;
  /** What is wrong with it, as the end of a sentence: `is a function`. */
  reason: string;
}

/**
 * Finds the first value without an encoding, or `undefined` if all is well. A
 * value that is about to become part of `container` must not contain it.
 */
export function findUnserializable(value: unknown, root: string, container?: object): Culprit | undefined {
  return visit(value, root, new Set(container === undefined ? [] : [container]));
}

function visit(input: unknown, path: string, above: Set<object>): Culprit | undefined {
  const value = toRaw(input);
  if (typeof value === "function") return { path, reason: "is a function and cannot be serialized" };
  if (typeof value === "symbol") return { path, reason: "is a symbol and cannot be serialized" };
  if (typeof value !== "object" || value === null || isLeaf(value)) return undefined;
  if (above.has(value)) return { path, reason: "refers back to a value it is part of and cannot be serialized" };
  if (above.size >= MAX_DEPTH) return { path, reason: `is nested deeper than ${MAX_DEPTH} levels` };
  above.add(value);
  const culprit = visitChildren(value, path, above);
  above.delete(value);
  return culprit;
}

function visitChildren(value: object, path: string, above: Set<object>): Culprit | undefined {
  if (Array.isArray(value)) {
    return first(value.entries(), ([index, item]) => visit(item, `${path}[${index}]`, above));
  }
  if (value instanceof Map) {
    return first(
      value.entries(),
      ([key, item]) =>
        visit(key, `${path}.key(${label(key)})`, above) ?? visit(item, `${path}.get(${label(key)})`, above),
    );
  }
  if (value instanceof Set) {
    let index = 0;
    return first(value.values(), (item) => visit(item, `${path}.item(${index++})`, above));
  }
  if (isPlainObject(value)) {
    return first(Object.keys(value), (key) => visit(value[key], childPath(path, key), above));
  }
  return { path, reason: `is ${describeInstance(value)} and cannot be serialized` };
}

/** Objects that are written as one value. */
export function isLeaf(value: object): boolean {
  return (
    value instanceof Date ||
    value instanceof RegExp ||
    value instanceof Error ||
    value instanceof ArrayBuffer ||
    (ArrayBuffer.isView(value) && !(value instanceof DataView))
  );
}

/** `base.key`, or `base["odd key"]`. */
export function childPath(base: string, key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `${base}.${key}` : `${base}[${JSON.stringify(key)}]`;
}

function describeInstance(value: object): string {
  const maker: unknown = value.constructor;
  const name = typeof maker === "function" ? maker.name : "";
  return name === "" ? "an object with its own prototype" : `an instance of ${name}`;
}

function label(key: unknown): string {
  return typeof key === "string" ? JSON.stringify(key) : typeof key === "object" ? "…" : String(key);
}

function first<T>(items: Iterable<T>, check: (item: T) => Culprit | undefined): Culprit | undefined {
  for (const item of items) {
    const culprit = check(item);
    if (culprit !== undefined) return culprit;
  }
  return undefined;
}
