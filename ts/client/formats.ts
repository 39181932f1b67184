/** Where a client gets its encodings from: they are at hand, or loaded when first used. */
import { toBase64 } from "../codec/base64";
import type { Codec } from "../codec/codec";
import type { Encoding, Formats } from "../wire/format";
import { formatsOf } from "../wire/formats";

export interface FormatSource {
  /** Everything of one encoding; without a promise if it is here. */
  load(encoding: Encoding): Formats | Promise<Formats>;
  /** An actor's input as URLs and the endpoint API carry it: CBOR as base64. */
  input(value: unknown): string | Promise<string>;
}

export function formatsWith(codec: Codec): FormatSource {
  return {
    load: (encoding) => formatsOf(encoding, codec),
    input: (value) => toBase64(codec.encode(value, "input")),
  };
}
