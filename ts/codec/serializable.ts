/**
 * What can be stored and sent: primitives, bigint, Date, RegExp, Error, binary
 * data, arrays, Map, Set and plain objects of the same. Not: functions, symbols,
 * class instances, cycles, or nesting deeper than {@link MAX_DEPTH}.
 */
import { isObject } from "../common/object";
import { isPlainObject, isTypedArray } from "../common/plain";
import { toRaw } from "../common/raw";
import { invalidArgument } from "../errors/malformed";

/** Deepest nesting of containers that is encoded. */
export const MAX_DEPTH = 128;

export interface Culprit {
  /** Way to the value, e.g. `args[0].user.fn`. */
  path: string;
  /** What is wrong with it, as the end of a sentence: `is a function`. */
  reason: string;
}

/** Thrown by encoders, which do not keep track of where they are: {@link unserializable} finds out. */
export const UNENCODABLE = new Error("no encoding");

/** The error of a value that has no encoding, with the way to what is wrong with it. */
export function unserializable(value: unknown, root: string): Error {
  const { path, reason } = findUnserializable(value, root) ?? wrong(root, "changes while it is read");
  return invalidArgument(path, reason);
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
  if (typeof value === "function" || typeof value === "symbol") return wrong(path, `is a ${typeof value}`);
  if (!isObject(value) || isLeaf(value)) return undefined;
  if (above.has(value)) return wrong(path, "refers back to a value it is part of");
  if (above.size >= MAX_DEPTH) return { path, reason: `is nested deeper than ${MAX_DEPTH} levels` };
  above.add(value);
  const culprit = visitChildren(value, path, above);
  above.delete(value);
  return culprit;
}

function wrong(path: string, what: string): Culprit {
  return { path, reason: `${what} and cannot be serialized` };
}

function visitChildren(value: object, path: string, above: Set<object>): Culprit | undefined {
  const child = (step: string, item: unknown) => visit(item, path + step, above);
  if (Array.isArray(value)) return first(value.entries(), ([index, item]) => child(`[${index}]`, item));
  if (value instanceof Map) {
    return first(value, ([key, item]) => child(`.key(${label(key)})`, key) ?? child(`.get(${label(key)})`, item));
  }
  if (value instanceof Set) {
    let index = 0;
    return first(value, (item) => child(`.item(${index++})`, item));
  }
  if (isPlainObject(value)) return first(Object.keys(value), (key) => child(childPath("", key), value[key]));
  return wrong(path, `is ${describeInstance(value)}`);
}

/** Objects that are written as one value. */
export function isLeaf(value: object): boolean {
  return (
    value instanceof Date ||
    value instanceof RegExp ||
    value instanceof Error ||
    value instanceof ArrayBuffer ||
    isTypedArray(value)
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
