/** All encodings at once, for programs that need not save on what they load. */
import type { Codec } from "../codec/codec";
import { bareFormats } from "./bare-format";
import { cborFormats } from "./cbor-format";
import type { Encoding, Formats } from "./format";
import { jsonFormats } from "./json-format";

export function formatsOf(encoding: Encoding, codec: Codec): Formats {
  switch (encoding) {
    case "bare":
      return bareFormats(codec);
    case "cbor":
      return cborFormats(codec);
    case "json":
      return jsonFormats;
  }
}
