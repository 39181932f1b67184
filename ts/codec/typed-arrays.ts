/**
 * Typed arrays as CBOR byte strings under the tags of RFC 8746.
 *
 * A tag is 64 plus, bit by bit: 16 for floats, 8 for signed integers, 4 for little
 * endian, and the logarithm of the element's size.
 */
import type { TypedArray } from "../common/plain";
import { held } from "../errors/malformed";

interface ArrayType {
  readonly name: string;
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBuffer): TypedArray;
}

const FIRST_TAG = 64;
const LITTLE_ENDIAN = 4;
/** What this machine writes. */
const OWN_ORDER = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1 ? LITTLE_ENDIAN : 0;

/** By the bits of a tag without that of the byte order; no half floats, which JavaScript may lack. */
const TYPES: readonly (ArrayType | undefined)[] = [
  Uint8Array,
  Uint16Array,
  Uint32Array,
  BigUint64Array,
  Int8Array,
  Int16Array,
  Int32Array,
  BigInt64Array,
  undefined,
  Float32Array,
  Float64Array,
];
/** Bytes have no order: the bit says clamped instead. */
const CLAMPED_TAG = FIRST_TAG + LITTLE_ENDIAN;

/** The tag of this machine's byte order, or `undefined` for an unknown type. */
export function typedArrayTag(array: TypedArray): number | undefined {
  const name = array[Symbol.toStringTag];
  if (name === "Uint8ClampedArray") return CLAMPED_TAG;
  const index = TYPES.findIndex((type) => type?.name === name);
  if (index < 0) return undefined;
  const order = array.BYTES_PER_ELEMENT > 1 ? OWN_ORDER : 0;
  return FIRST_TAG + (index & ~3) * 2 + order + (index & 3);
}

/** The type of a tag's elements, if it is one of these tags. */
export function typedArrayType(tag: number): ArrayType | undefined {
  if (tag === CLAMPED_TAG) return Uint8ClampedArray;
  const bits = tag - FIRST_TAG;
  if (bits < 0 || bits > 31) return undefined;
  const type = TYPES[((bits >> 3) << 2) | (bits & 3)];
  const isOrderless = type?.BYTES_PER_ELEMENT === 1 && (bits & LITTLE_ENDIAN) !== 0;
  return isOrderless ? undefined : type;
}

/** Builds the array of a tag from its bytes; the result owns its memory. */
export function typedArrayOf(tag: number, Type: ArrayType, bytes: unknown): TypedArray {
  if (!(bytes instanceof Uint8Array)) throw held(tag, "a byte string");
  const width = Type.BYTES_PER_ELEMENT;
  if (bytes.length % width !== 0) throw held(tag, `a multiple of ${width} bytes`);
  const copy = new Uint8Array(bytes);
  if (width > 1 && (tag & LITTLE_ENDIAN) !== OWN_ORDER) {
    for (let at = 0; at < copy.length; at += width) copy.subarray(at, at + width).reverse();
  }
  return new Type(copy.buffer);
}
