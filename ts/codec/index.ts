/** The codec that needs no addon. */
import { decodeCbor } from "./cbor-decode";
import { encodeCbor } from "./cbor-encode";
import type { Codec } from "./codec";

export { decodeCbor } from "./cbor-decode";
export { encodeCbor } from "./cbor-encode";
export type { Codec } from "./codec";

/** Plain JavaScript; the same in Node and in browsers. */
export const jsCodec: Codec = { encode: encodeCbor, decode: decodeCbor };
