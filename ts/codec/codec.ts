/**
 * How JavaScript values become the CBOR bytes that native code stores and
 * forwards without looking inside.
 *
 * The dialect is RivetKit's: BigInt, Uint8Array, ArrayBuffer, `undefined` and Set
 * are written as two-element arrays that start with a `$` name (see `tags.ts`),
 * everything else by CBOR's own means. No bytes at all mean `undefined`.
 */
export interface Codec {
  /**
   * Encodes one value. `root` names it in the error for a value that has no
   * encoding (`napi/invalid_argument`, with the path to the culprit).
   */
  encode(value: unknown, root?: string): Uint8Array;
  /** Decodes one value; trailing or malformed bytes throw. */
  decode(bytes: Uint8Array): unknown;
}
