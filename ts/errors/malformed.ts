import { ActorError } from "./actor-error";

/** Bytes or JSON that are not of this dialect. */
export function malformed(reason: string): ActorError {
  return new ActorError("napi", "invalid_argument", `Invalid native argument 'bytes': ${reason}`, {
    metadata: { argument: "bytes", reason },
  });
}
