/**
 * `greenroom/client` for browsers: the same client, which loads what not every
 * page needs on first use. `scripts/bundle.mjs` makes a chunk of each import.
 */
import { createClientWith } from "./create";

const encodings = {
  bare: () => import("./chunks/bare.js"),
  cbor: () => import("./chunks/cbor.js"),
  json: () => import("./chunks/json.js"),
};

export const createClient = createClientWith({
  formats: async (encoding) => (await encodings[encoding]()).formats,
  input: async () => {
    const { jsCodec, toBase64 } = await import("./chunks/values.js");
    return (value) => toBase64(jsCodec.encode(value, "input"));
  },
  endpointApi: () => import("./chunks/endpoint-api.js"),
  rawHttp: () => import("./chunks/raw-http.js"),
  sockets: () => import("./chunks/sockets.js"),
});
export { ActorError, UserError } from "../errors/actor-error";
