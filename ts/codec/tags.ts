/**
 * The `$` tags: values that JSON (and foreign CBOR readers) cannot hold, written
 * as two-element arrays.
 *
 * | value         | form                          |
 * |---------------|-------------------------------|
 * | BigInt        | `["$BigInt", "123"]`          |
 * | Uint8Array    | `["$Uint8Array", base64]`     |
 * | ArrayBuffer   | `["$ArrayBuffer", base64]`    |
 * | undefined     | `["$Undefined", 0]`           |
 * | Set           | `["$Set", [items]]`           |
 * | `["$x", any]` | `["$$x", any]` (escape)       |
 */
import { held, malformed } from "../errors/malformed";
import { fromBase64 } from "./base64";

export const TAG_BIGINT = "$BigInt";
export const TAG_BYTES = "$Uint8Array";
export const TAG_BUFFER = "$ArrayBuffer";
export const TAG_UNDEFINED = "$Undefined";
export const TAG_SET = "$Set";

/** True for an array that would be mistaken for a tag and must be escaped. */
export function looksTagged(array: readonly unknown[]): boolean {
  return array.length === 2 && typeof array[0] === "string" && array[0].charCodeAt(0) === 36;
}

/**
 * Gives back the value of a decoded two-element array; its second element has
 * been revived already. Arrays that are no tag are returned as they are.
 */
export function reviveTag(array: unknown[]): unknown {
  if (!looksTagged(array)) return array;
  const [tag, value] = array as [string, unknown];
  if (tag.startsWith("$$")) {
    array[0] = tag.slice(1);
    return array;
  }
  switch (tag) {
    case TAG_UNDEFINED:
      return undefined;
    case TAG_BIGINT:
      return BigInt(text(tag, value));
    case TAG_BYTES:
      return fromBase64(text(tag, value));
    case TAG_BUFFER:
      return fromBase64(text(tag, value)).buffer;
    case TAG_SET:
      if (!Array.isArray(value)) throw held(tag, "an array");
      return new Set(value);
    default:
      throw malformed(`unknown value tag ${JSON.stringify(tag)}`);
  }
}

function text(tag: string, value: unknown): string {
  if (typeof value !== "string") throw held(tag, "a string");
  if (tag === TAG_BIGINT && !/^-?\d+$/.test(value)) throw held(tag, "an integer");
  return value;
}
