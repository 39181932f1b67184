import { ActorError } from "./actor-error";

/** An argument that the types would not have let through, or that has no encoding: `argument` leads to it. */
export function invalidArgument(argument: string, reason: string): ActorError {
  return new ActorError("napi", "invalid_argument", `Invalid native argument '${argument}': ${reason}`, {
    metadata: { argument, reason },
  });
}

/** Bytes or JSON that are not of this dialect. */
export function malformed(reason: string): ActorError {
  return invalidArgument("bytes", reason);
}

/** A tag that holds something else than it must. */
export function held(tag: number | string, what: string): ActorError {
  return malformed(`tag ${tag} does not hold ${what}`);
}
