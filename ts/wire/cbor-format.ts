/** The client protocol in CBOR. */
import type { Codec } from "../codec/codec";
import { bytesOf, type Formats } from "./format";
import { mapBodies, mapMessages } from "./map-format";

export function cborFormats(codec: Codec): Formats {
  const encode = (value: unknown, root?: string) => codec.encode(value, root);
  return {
    http: mapBodies("cbor", "application/octet-stream", encode, (bytes) => codec.decode(bytes)),
    messages: mapMessages(encode, (message) => codec.decode(bytesOf(message))),
  };
}
