/**
 * The CBOR encoder: RivetKit's dialect (see `codec.ts`) in portable JavaScript.
 *
 * Numbers follow the published packages: integers of up to 32 bits plus sign as
 * CBOR integers, all others as 64-bit floats, so that every reader gets a number
 * and never a BigInt.
 */
import { isPlainObject, isTypedArray, type TypedArray } from "../common/plain";
import { toRaw } from "../common/raw";
import { toBase64 } from "./base64";
import { CborWriter } from "./cbor-writer";
import { MAX_DEPTH, UNENCODABLE, unserializable } from "./serializable";
import { looksTagged, TAG_BIGINT, TAG_BUFFER, TAG_BYTES, TAG_SET, TAG_UNDEFINED } from "./tags";
import { typedArrayTag } from "./typed-arrays";

export function encodeCbor(value: unknown, root = "value"): Uint8Array {
  const writer = CborWriter.take();
  try {
    writeValue(writer, value, 0);
    return writer.finish();
  } catch (error) {
    writer.release();
    throw error === UNENCODABLE ? unserializable(value, root) : error;
  }
}

function writeValue(out: CborWriter, value: unknown, depth: number): void {
  switch (typeof value) {
    case "string":
      return out.text(value);
    case "number":
      return writeNumber(out, value);
    case "boolean":
      return out.byte(value ? 0xf5 : 0xf4);
    case "undefined":
      writeTag(out, TAG_UNDEFINED);
      return out.byte(0);
    case "bigint":
      writeTag(out, TAG_BIGINT);
      return out.text(String(value));
    case "object":
      return value === null ? out.byte(0xf6) : writeObject(out, toRaw(value), depth);
    default:
      throw UNENCODABLE;
  }
}

function writeNumber(out: CborWriter, value: number): void {
  if (!Number.isInteger(value) || Object.is(value, -0)) return out.float64(value);
  if (value >= 0 && value <= 0xffff_ffff) return out.head(0, value);
  if (value < 0 && value >= -0x1_0000_0000) return out.head(1, -1 - value);
  out.float64(value);
}

function writeObject(out: CborWriter, value: object, depth: number): void {
  if (depth >= MAX_DEPTH) throw UNENCODABLE;
  if (Array.isArray(value)) return writeArray(out, value, depth);
  if (isPlainObject(value)) return writePlain(out, value, depth);
  if (value instanceof Uint8Array) return writeBase64(out, TAG_BYTES, value);
  if (value instanceof Map) return writeMap(out, value, depth);
  if (value instanceof Set) return writeSet(out, value, depth);
  if (value instanceof ArrayBuffer) return writeBase64(out, TAG_BUFFER, new Uint8Array(value));
  if (isTypedArray(value)) return writeTypedArray(out, value);
  // What is left is written as a tag and plain values.
  if (value instanceof Date) {
    out.head(6, 1);
    writeNumber(out, value.getTime() / 1000);
  } else {
    out.head(6, 27);
    writeArray(out, constructorOf(value), depth);
  }
}

/** Of an object that is made anew from texts: the name of its class, and its constructor's arguments. */
function constructorOf(value: object): string[] {
  if (value instanceof RegExp) return ["RegExp", value.source, value.flags];
  if (value instanceof Error) return [value.name, value.message];
  throw UNENCODABLE;
}

function writeArray(out: CborWriter, array: unknown[], depth: number): void {
  out.head(4, array.length);
  let start = 0;
  if (looksTagged(array)) {
    out.text(`$${array[0] as string}`);
    start = 1;
  }
  for (let i = start; i < array.length; i++) writeValue(out, array[i], depth + 1);
}

function writePlain(out: CborWriter, object: Record<string, unknown>, depth: number): void {
  const keys = Object.keys(object);
  out.head(5, keys.length);
  for (const key of keys) {
    out.text(key);
    writeValue(out, object[key], depth + 1);
  }
}

function writeMap(out: CborWriter, map: Map<unknown, unknown>, depth: number): void {
  out.head(6, 259);
  out.head(5, map.size);
  for (const [key, item] of map) {
    writeValue(out, key, depth + 1);
    writeValue(out, item, depth + 1);
  }
}

function writeSet(out: CborWriter, set: Set<unknown>, depth: number): void {
  writeTag(out, TAG_SET);
  out.head(4, set.size);
  for (const item of set) writeValue(out, item, depth + 1);
}

function writeTypedArray(out: CborWriter, array: TypedArray): void {
  const tag = typedArrayTag(array);
  if (tag === undefined) throw UNENCODABLE;
  out.head(6, tag);
  out.bytes(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
}

function writeBase64(out: CborWriter, tag: string, bytes: Uint8Array): void {
  writeTag(out, tag);
  out.text(toBase64(bytes));
}

/** The first of the two elements of a `$` tag. */
function writeTag(out: CborWriter, tag: string): void {
  out.byte(0x82);
  out.text(tag);
}
