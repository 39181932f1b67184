/** Typed arrays as CBOR byte strings under the tags of RFC 8746. */
import type { TypedArray } from "../common/plain";
import { malformed } from "../errors/malformed";

interface ArrayType {
  readonly name: string;
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBuffer): TypedArray;
}

const LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/** Tag → element type and whether the bytes are big-endian. */
const TYPES: ReadonlyMap<number, readonly [ArrayType, boolean]> = new Map<number, readonly [ArrayType, boolean]>([
  [64, [Uint8Array, false]],
  [65, [Uint16Array, true]],
  [66, [Uint32Array, true]],
  [67, [BigUint64Array, true]],
  [68, [Uint8ClampedArray, false]],
  [69, [Uint16Array, false]],
  [70, [Uint32Array, false]],
  [71, [BigUint64Array, false]],
  [72, [Int8Array, false]],
  [73, [Int16Array, true]],
  [74, [Int32Array, true]],
  [75, [BigInt64Array, true]],
  [77, [Int16Array, false]],
  [78, [Int32Array, false]],
  [79, [BigInt64Array, false]],
  [81, [Float32Array, true]],
  [82, [Float64Array, true]],
  [85, [Float32Array, false]],
  [86, [Float64Array, false]],
]);

const TAGS: ReadonlyMap<string, number> = new Map(
  [...TYPES]
    .filter(([, [type, big]]) => type.BYTES_PER_ELEMENT === 1 || big !== LITTLE_ENDIAN)
    .map(([tag, [type]]) => [type.name, tag]),
);

/** The tag of this machine's byte order, or `undefined` for an unknown type. */
export function typedArrayTag(array: TypedArray): number | undefined {
  return TAGS.get(array[Symbol.toStringTag]);
}

export function isTypedArrayTag(tag: number): boolean {
  return TYPES.has(tag);
}

/** Builds the array of a tag from its bytes; the result owns its memory. */
export function typedArrayOf(tag: number, bytes: unknown): TypedArray {
  const [Type, bigEndian] = TYPES.get(tag) as readonly [ArrayType, boolean];
  if (!(bytes instanceof Uint8Array)) throw malformed(`tag ${tag} does not hold a byte string`);
  const width = Type.BYTES_PER_ELEMENT;
  if (bytes.length % width !== 0) throw malformed(`tag ${tag} holds ${bytes.length} bytes, no multiple of ${width}`);
  const copy = new Uint8Array(bytes);
  if (width > 1 && bigEndian === LITTLE_ENDIAN) {
    for (let at = 0; at < copy.length; at += width) copy.subarray(at, at + width).reverse();
  }
  return new Type(copy.buffer);
}
