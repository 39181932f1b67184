/**
 * Values as JSON: what JSON lacks travels as `$` tags (see `tags.ts`).
 *
 * JSON has no Date, Map or typed array and the protocol no tag for them: a Date
 * becomes its ISO text, a Map an object, a typed array an array of numbers.
 */
import { isPlainObject, isTypedArray, setOwn } from "../common/plain";
import { toRaw } from "../common/raw";
import { invalidArgument, malformed } from "../errors/malformed";
import { toBase64 } from "./base64";
import { findUnserializable, MAX_DEPTH } from "./serializable";
import { looksTagged, reviveTag, TAG_BIGINT, TAG_BUFFER, TAG_BYTES, TAG_SET, TAG_UNDEFINED } from "./tags";

/** A tree for `JSON.stringify` that holds only what JSON can. */
export function toJsonValue(value: unknown, root = "value"): unknown {
  try {
    return convert(value, 0);
  } catch (error) {
    if (error !== UNENCODABLE) throw error;
    const culprit = findUnserializable(value, root) ?? { path: root, reason: "cannot be serialized" };
    throw invalidArgument(culprit.path, culprit.reason);
  }
}

/** Undoes {@link toJsonValue} on a tree from `JSON.parse`, in place where it can. */
export function fromJsonValue(value: unknown): unknown {
  return revive(value, 0);
}

export function stringifyTagged(value: unknown, root?: string): string {
  return JSON.stringify(toJsonValue(value, root));
}

export function parseTagged(text: string): unknown {
  let tree: unknown;
  try {
    tree = JSON.parse(text);
  } catch (error) {
    throw malformed(`not JSON: ${(error as Error).message}`);
  }
  return fromJsonValue(tree);
}

const UNENCODABLE = new Error("no encoding");

function convert(input: unknown, depth: number): unknown {
  switch (typeof input) {
    case "undefined":
      return [TAG_UNDEFINED, 0];
    case "bigint":
      return [TAG_BIGINT, input.toString()];
    case "function":
    case "symbol":
      throw UNENCODABLE;
    case "object":
      return input === null ? null : convertObject(toRaw(input), depth);
    default:
      return input;
  }
}

function convertObject(value: object, depth: number): unknown {
  if (depth >= MAX_DEPTH) throw UNENCODABLE;
  const child = (item: unknown) => convert(item, depth + 1);
  if (Array.isArray(value)) return convertArray(value, child);
  if (isPlainObject(value)) {
    return objectFrom(
      Object.keys(value).map((key) => [key, value[key]]),
      child,
    );
  }
  if (value instanceof Uint8Array) return [TAG_BYTES, toBase64(value)];
  if (value instanceof ArrayBuffer) return [TAG_BUFFER, toBase64(new Uint8Array(value))];
  if (value instanceof Set) return [TAG_SET, Array.from(value, child)];
  if (value instanceof Map) {
    return objectFrom(
      Array.from(value, ([key, item]) => [String(key), item]),
      child,
    );
  }
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof RegExp) return String(value);
  if (value instanceof Error) return { name: value.name, message: value.message };
  if (isTypedArray(value)) return Array.from(value as Iterable<number | bigint>, child);
  throw UNENCODABLE;
}

function convertArray(array: unknown[], child: (item: unknown) => unknown): unknown[] {
  // Array.from, unlike map, visits the holes.
  const items = Array.from(array, child);
  if (looksTagged(array)) items[0] = `$${array[0] as string}`;
  return items;
}

function objectFrom(entries: [string, unknown][], child: (item: unknown) => unknown): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const [key, item] of entries) setOwn(object, key, child(item));
  return object;
}

function revive(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null) return value;
  // JSON.parse nests as deep as its text does; tags add at most one level each.
  if (depth > 2 * MAX_DEPTH) throw malformed(`nested deeper than ${MAX_DEPTH} levels`);
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) value[i] = revive(value[i], depth + 1);
    return reviveTag(value);
  }
  const object = value as Record<string, unknown>;
  for (const key of Object.keys(object)) {
    const item = object[key];
    if (typeof item === "object" && item !== null) setOwn(object, key, revive(item, depth + 1));
  }
  return object;
}
