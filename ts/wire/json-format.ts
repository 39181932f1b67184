/** The client protocol in JSON. */
import { parseTagged, stringifyTagged } from "../codec/json";
import type { Formats } from "./format";
import { mapBodies, mapMessages } from "./map-format";

const utf8 = new TextEncoder();
const utf8Decoder = new TextDecoder();

export const jsonFormats: Formats = {
  http: mapBodies(
    "json",
    "application/json",
    (value, root) => utf8.encode(stringifyTagged(value, root)),
    (bytes) => parseTagged(utf8Decoder.decode(bytes)),
  ),
  messages: mapMessages(stringifyTagged, (message) =>
    parseTagged(typeof message === "string" ? message : utf8Decoder.decode(message)),
  ),
};
