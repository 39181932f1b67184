/**
 * `greenroom/client` for browsers: the same client, which loads an encoding when
 * the first call needs it. `scripts/bundle.mjs` makes a chunk of each import.
 */
import { createClientWith } from "./create";
import type { FormatSource } from "./formats";

const loaded: FormatSource = {
  load: async (encoding) => {
    switch (encoding) {
      case "bare":
        return (await import("./chunks/bare.js")).formats;
      case "cbor":
        return (await import("./chunks/cbor.js")).formats;
      case "json":
        return (await import("./chunks/json.js")).formats;
    }
  },
  input: async (value) => (await import("./chunks/input.js")).encodeInput(value),
};

export const createClient = createClientWith(loaded);
export { ActorError, UserError } from "../errors/actor-error";
