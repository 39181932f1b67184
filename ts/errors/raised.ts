/**
 * The errors that definitions, options, actors and registries raise on this side of
 * the native code; those of the network client are in `client.ts` and `connection.ts`.
 *
 * Codes that native code also knows keep its names; the rest belong to the groups
 * `config` (definitions and options) and `registry`.
 */
import { ActorError } from "./actor-error";

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
