/** The errors of connections; a page loads them with its first. */
import type { ActorError } from "./actor-error";
import { clientError } from "./client";
import { messageOf } from "./message";

/** The socket of a call was lost before its answer came. */
export function connectionLost(code: number, reason: string, cause: unknown): ActorError {
  const message = "The connection was lost before the answer came; the action may or may not have run.";
  return clientError("connection_lost", message, { code, reason }, { cause });
}

/** A message that is not of the protocol. */
export function invalidMessage(cause: unknown): ActorError {
  const reason = messageOf(cause);
  return clientError("invalid_response", `The host's message cannot be read: ${reason}`, { reason }, { cause });
}
