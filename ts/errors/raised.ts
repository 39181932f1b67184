/**
 * Every error the TypeScript layer raises by itself, in one place.
 *
 * Codes that native code also knows keep its names; the rest belong to the
 * groups `config` (definitions and options), `client` and `registry`.
 */
import { ActorError, type ActorErrorLike, type ActorErrorOptions } from "./actor-error";
import { messageOf } from "./message";

/** One complaint of a Standard Schema validator. */
export interface ValidationIssue {
  message: string;
  path?: (string | number)[];
}

export function invalidDefinition(option: string, reason: string): ActorError {
  return invalid("definition", "actor definition", option, reason);
}

export function invalidOption(option: string, reason: string): ActorError {
  return invalid("option", "option", option, reason);
}

function invalid(kind: string, subject: string, option: string, reason: string): ActorError {
  return new ActorError("config", `invalid_${kind}`, `Invalid ${subject}: ${option} ${reason}`, {
    metadata: { option, reason },
  });
}

/** A capability that exists in the API but not (yet) behind it. */
export function notConfigured(component: string, detail = ""): ActorError {
  const suffix = detail === "" ? "" : ` ${detail}`;
  return new ActorError("actor", "not_configured", `Actor capability '${component}' is not configured.${suffix}`, {
    metadata: { component },
  });
}

export function validationFailed(group: string, subject: string, issues: ValidationIssue[]): ActorError {
  const first = issues[0]?.message ?? "the validator gave no reason";
  return new ActorError(group, "validation_failed", `${subject} is invalid: ${first}`, {
    public: true,
    metadata: { issues },
  });
}

export function forbidden(subject: string): ActorError {
  return new ActorError("auth", "forbidden", `${subject} is forbidden.`, { public: true, statusCode: 403 });
}

export function stateNotEnabled(): ActorError {
  return new ActorError("actor", "state_not_enabled", "This actor has no state: define `state` or `createState`.");
}

export function connStateNotEnabled(): ActorError {
  return new ActorError(
    "actor",
    "state_not_enabled",
    "Connections of this actor have no state: define `connState` or `createConnState`.",
  );
}

export function stateMutationReentrant(): ActorError {
  return new ActorError(
    "actor",
    "state_mutation_reentrant",
    "State cannot be changed inside onStateChange; `c.vars` can.",
  );
}

/** The provider's client does not exist yet: `c.db` before `onMigrate`. */
export function databaseNotReady(): ActorError {
  return new ActorError("actor", "database_client_not_ready", "The database client is made in onMigrate, not before.", {
    public: true,
  });
}

export function databaseClosed(): ActorError {
  return new ActorError(
    "sqlite",
    "closed",
    "SQLite database is closed: the actor has stopped. Watch `c.abortSignal` to stop work in time.",
  );
}

export function transactionsDoNotNest(): ActorError {
  return new ActorError("sqlite", "transaction_active", "A transaction is open already: transactions do not nest.");
}

/** The call would wait for the transaction that its own code has open. */
export function waitsForItself(): ActorError {
  return new ActorError(
    "sqlite",
    "transaction_active",
    "A transaction is open on this database; the call would wait for itself. Use the transaction's own methods.",
  );
}

export function notInStateTransaction(what: string): ActorError {
  return new ActorError(
    "sqlite",
    "transaction_invalid_argument",
    `A transaction that includes the state runs single statements only, not ${what}.`,
  );
}

export function stateTransactionConflict(what: string): ActorError {
  return new ActorError("actor", "state_transaction_conflict", `${what} while a transaction includes the state.`, {
    public: true,
    statusCode: 409,
  });
}

export function previousMessageNotCompleted(name: string): ActorError {
  return new ActorError(
    "queue",
    "previous_message_not_completed",
    `The previous message of queue '${name}' was not completed. Call its complete() before receiving again.`,
    { public: true, metadata: { name } },
  );
}

export function messageAlreadyCompleted(): ActorError {
  return new ActorError("queue", "already_completed", "Queue message was already completed", { public: true });
}

/** The socket of a call was lost before its answer came. */
export function connectionLost(code: number, reason: string, cause: unknown): ActorError {
  const message = "The connection was lost before the answer came; the action may or may not have run.";
  return clientError("connection_lost", message, { code, reason }, cause);
}

export function connectionDisposed(cause?: unknown): ActorError {
  return clientError("connection_disposed", "The connection was disposed of.", undefined, cause);
}

export function tooManyCalls(limit: number): ActorError {
  return clientError("too_many_calls", `More than ${limit} calls wait for the connection to open.`, { limit });
}

/** A message that is not of the protocol. */
export function invalidMessage(cause: unknown): ActorError {
  const reason = messageOf(cause);
  return clientError("invalid_response", `The host's message cannot be read: ${reason}`, { reason }, cause);
}

/** The request never reached the host, or its answer never came back. */
export function networkError(endpoint: string, cause: unknown): ActorError {
  // `fetch` hides the reason (ECONNREFUSED and the like) in its cause.
  const inner = cause instanceof Error ? cause.cause : undefined;
  const reason = inner instanceof Error ? ((inner as NodeJS.ErrnoException).code ?? inner.message) : messageOf(cause);
  return clientError("network_error", `The request to ${endpoint} failed: ${reason}`, { endpoint, reason }, cause);
}

/** A reply that is not of the protocol: a proxy's page, a cut-off body. */
export function invalidResponse(status: number, reason: string, rayId?: string): ActorError {
  const message = `The host's reply (status ${status}) cannot be read: ${reason}`;
  return clientError("invalid_response", message, { status, reason }, undefined, rayId);
}

/** An error that was told to a client: whoever told it meant it for its eyes. */
export function remoteError(
  { group, code, message, metadata, actor }: ActorErrorLike,
  more?: Pick<ActorErrorOptions, "statusCode" | "rayId">,
): ActorError {
  return new ActorError(group, code, message, { public: true, metadata, actor, ...more });
}

function clientError(code: string, message: string, metadata: unknown, cause?: unknown, rayId?: string): ActorError {
  return new ActorError("client", code, message, { metadata, cause, rayId });
}

export function actorNotFound(name: string, key: readonly string[]): ActorError {
  return new ActorError("actor", "not_found", `Actor ${name} with key ${JSON.stringify(key)} was not found.`, {
    public: true,
    statusCode: 404,
    metadata: { name, key },
  });
}

export function registryShutDown(): ActorError {
  return new ActorError("registry", "shut_down", "Registry is shut down; no new requests can be accepted.");
}

export function dataDirConflict(open: string, asked: string): ActorError {
  return new ActorError(
    "config",
    "data_dir_conflict",
    `This registry already works on ${open} and cannot also use ${asked}; set up a second registry for it.`,
    { metadata: { open, asked } },
  );
}
