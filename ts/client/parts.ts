/** What a client uses only at times: at hand in Node.js, loaded on first use by a page. */
import { toBase64 } from "../codec/base64";
import type { Codec } from "../codec/codec";
import type { Encoding, Formats } from "../wire/format";
import { formatsOf } from "../wire/formats";
import { openLine } from "./connection/line";
import * as endpointApi from "./endpoint-api";
import { openSocket } from "./open-socket";
import * as rawHttp from "./raw-http";
import type { WebSocketClass } from "./socket";

type Loaded<T> = T | Promise<T>;

export interface Parts {
  /** Everything of one encoding; without a promise if it is here. */
  formats(encoding: Encoding): Loaded<Formats>;
  /** Writes an actor's input as URLs and the endpoint API carry it: CBOR as base64. */
  input(): Loaded<(value: unknown) => string>;
  endpointApi(): Loaded<typeof endpointApi>;
  rawHttp(): Loaded<typeof rawHttp>;
  /** Of connections and of raw sockets. */
  sockets(): Loaded<{ readonly openLine: typeof openLine; readonly openSocket: typeof openSocket }>;
  /** What opens sockets where the platform itself has nothing for it. */
  webSocket?(): Promise<WebSocketClass>;
}

export function partsWith(codec: Codec): Parts {
  return {
    formats: (encoding) => formatsOf(encoding, codec),
    input: () => (value) => toBase64(codec.encode(value, "input")),
    endpointApi: () => endpointApi,
    rawHttp: () => rawHttp,
    sockets: () => ({ openLine, openSocket }),
    webSocket: async () => (await import("./node-socket.js")).NodeSocket,
  };
}
