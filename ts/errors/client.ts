/** The errors of the network client, but for those of its connections: `connection.ts`. */
import { ActorError, type ActorErrorLike, type ActorErrorOptions } from "./actor-error";
import { messageOf } from "./message";

export function clientError(
  code: string,
  message: string,
  metadata?: unknown,
  more?: Pick<ActorErrorOptions, "cause" | "rayId">,
): ActorError {
  return new ActorError("client", code, message, { metadata, ...more });
}

export function connectionDisposed(cause?: unknown): ActorError {
  return clientError("connection_disposed", "The connection was disposed of.", undefined, { cause });
}

/** Calls of one connection that may wait for its socket. */
const WAITING_MAX = 1_000;

/** Throws if as many calls as may wait for a socket do so already. */
export function checkWaiting(waiting: number): void {
  if (waiting < WAITING_MAX) return;
  const limit = WAITING_MAX;
  throw clientError("too_many_calls", `More than ${limit} calls wait for the connection to open.`, { limit });
}

/** The request never reached the host, or its answer never came back. */
export function networkError(endpoint: string, cause: unknown): ActorError {
  // `fetch` hides the reason (ECONNREFUSED and the like) in its cause.
  const inner = cause instanceof Error ? cause.cause : undefined;
  const reason = inner instanceof Error ? ((inner as NodeJS.ErrnoException).code ?? inner.message) : messageOf(cause);
  return clientError("network_error", `The request to ${endpoint} failed: ${reason}`, { endpoint, reason }, { cause });
}

/** A reply that is not of the protocol: a proxy's page, a cut-off body. */
export function invalidResponse(status: number, reason: string, rayId?: string): ActorError {
  const message = `The host's reply (status ${status}) cannot be read: ${reason}`;
  return clientError("invalid_response", message, { status, reason }, { rayId });
}

/** An error that was told to a client: whoever told it meant it for its eyes. */
export function remoteError(
  { group, code, message, metadata, actor }: ActorErrorLike,
  more?: Pick<ActorErrorOptions, "statusCode" | "rayId">,
): ActorError {
  return new ActorError(group, code, message, { public: true, metadata, actor, ...more });
}
