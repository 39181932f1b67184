/**
 * `greenroom/client` for browsers: the same client, which loads what not every
 * page needs on first use. `scripts/bundle.mjs` makes a chunk of each import.
 */
import { createClientWith } from "./create";

export const createClient = createClientWith({
  formats: async (encoding) => {
    switch (encoding) {
      case "bare":
        return (await import("./chunks/bare.js")).formats;
      case "cbor":
        return (await import("./chunks/cbor.js")).formats;
      case "json":
        return (await import("./chunks/json.js")).formats;
    }
  },
  input: async (value) => {
    const { jsCodec, toBase64 } = await import("./chunks/values.js");
    return toBase64(jsCodec.encode(value, "input"));
  },
  endpointApi: () => import("./chunks/endpoint-api.js"),
  rawHttp: () => import("./chunks/raw-http.js"),
});
export { ActorError, UserError } from "../errors/actor-error";
