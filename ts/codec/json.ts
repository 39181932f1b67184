/**
 * Values as JSON: what JSON lacks travels as `$` tags (see `tags.ts`).
 *
 * JSON has no Date, Map or typed array and the protocol no tag for them: a Date
 * becomes its ISO text, a Map an object, a typed array an array of numbers.
 */
import { isObject } from "../common/object";
import { isPlainObject, isTypedArray, setOwn } from "../common/plain";
import { toRaw } from "../common/raw";
import { malformed } from "../errors/malformed";
import { toBase64 } from "./base64";
import { MAX_DEPTH, UNENCODABLE, unserializable } from "./serializable";
import { looksTagged, reviveTag, TAG_BIGINT, TAG_BUFFER, TAG_BYTES, TAG_SET, TAG_UNDEFINED } from "./tags";

/** A tree for `JSON.stringify` that holds only what JSON can. */
export function toJsonValue(value: unknown, root = "value"): unknown {
  try {
    return convert(value, 0);
  } catch (error) {
    throw error === UNENCODABLE ? unserializable(value, root) : error;
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

function convert(input: unknown, depth: number): unknown {
  switch (typeof input) {
    case "undefined":
      return [TAG_UNDEFINED, 0];
    case "bigint":
      return [TAG_BIGINT, String(input)];
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
  if (isPlainObject(value)) return convertEntries(Object.entries(value), child);
  if (value instanceof Uint8Array) return [TAG_BYTES, toBase64(value)];
  if (value instanceof ArrayBuffer) return [TAG_BUFFER, toBase64(new Uint8Array(value))];
  if (value instanceof Set) return [TAG_SET, Array.from(value, child)];
  if (value instanceof Map) return convertEntries(value, child);
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

function convertEntries(entries: Iterable<[unknown, unknown]>, child: (item: unknown) => unknown) {
  const object: Record<string, unknown> = {};
  for (const [key, item] of entries) setOwn(object, String(key), child(item));
  return object;
}

function revive(value: unknown, depth: number): unknown {
  if (!isObject(value)) return value;
  // JSON.parse nests as deep as its text does; tags add at most one level each.
  if (depth > 2 * MAX_DEPTH) throw malformed(`nested deeper than ${MAX_DEPTH} levels`);
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) value[i] = revive(value[i], depth + 1);
    return reviveTag(value);
  }
  for (const key of Object.keys(value)) {
    const item = value[key];
    if (isObject(item)) setOwn(value, key, revive(item, depth + 1));
  }
  return value;
}
