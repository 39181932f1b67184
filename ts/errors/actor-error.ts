/**
 * The error class of both sides of the wire.
 *
 * Owns the shape; which codes exist and how they look to a remote client is
 * decided by the native error table.
 */
import { assignDefined, isObject } from "../common/object";
import { isRetryable } from "./retryable";

/** Names the actor generation an error happened in. */
export interface ActorSpecifier {
  actorId: string;
  generation: number;
  /** Serialized key, e.g. `rooms/a`. */
  key?: string;
}

export interface ActorErrorOptions extends ErrorOptions {
  /** JSON-like details. BigInt, bytes, `undefined` and Set survive the wire. */
  metadata?: unknown;
  /** The actor that was at work. */
  actor?: ActorSpecifier | undefined;
  /** Request id for correlation with server logs. */
  rayId?: string | undefined;
  /** Whether the thrower meant the text for remote eyes. Default false. */
  public?: boolean;
  /** HTTP status suggested by the thrower. Default 400 if public, else 500. */
  statusCode?: number;
}

/**
 * A structured error: `group` and `code` say what went wrong and are stable,
 * `message` is for people, `metadata` for programs.
 */
export class ActorError extends Error {
  /** Tag by which RivetKit code recognises the shape across package copies. */
  readonly __type = "RivetError";
  declare readonly group: string;
  declare readonly code: string;
  declare metadata?: unknown;
  declare actor?: ActorSpecifier;
  declare readonly rayId?: string;
  declare readonly public: boolean;
  declare readonly statusCode: number;
  /** The same call may succeed later without a change by the caller. */
  declare readonly retryable: boolean;

  constructor(group: string, code: string, message: string, options: ActorErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : options);
    const { metadata, actor, rayId, public: meant = false, statusCode = meant ? 400 : 500 } = options;
    const retryable = isRetryable(group, code);
    // Absent and `undefined` are one thing and make no property; null is another.
    assignDefined(this, { group, code, metadata, actor, rayId, public: meant, statusCode, retryable });
  }

  /** True for this class and for RivetKit's own error objects. */
  static isActorError(error: unknown): error is ActorError {
    return error instanceof ActorError || isTaggedError(error);
  }

  override toString(): string {
    return `${this.name}: ${this.message} (${this.group}/${this.code})`;
  }
}
// On the prototype, as in the built-in error classes, so that it is not listed
// among the fields when an error is printed.
ActorError.prototype.name = "ActorError";

export interface UserErrorOptions extends ErrorOptions {
  /** Machine-readable code. Default `user_error`. */
  code?: string;
  metadata?: unknown;
}

/** Throw it in an actor to tell the caller: message, code and metadata arrive unmasked. */
export class UserError extends ActorError {
  constructor(message: string, options: UserErrorOptions = {}) {
    super("user", options.code ?? "user_error", message, { ...options, public: true, statusCode: 400 });
  }
}
UserError.prototype.name = "UserError";

/** The fields of a structured error, whatever object carries them. */
export interface ActorErrorLike {
  group: string;
  code: string;
  message: string;
  metadata?: unknown;
  actor?: ActorSpecifier;
  rayId?: string;
  public?: boolean;
  statusCode?: number;
}

/** @internal Group, code and message are there, as strings. */
export function isErrorLike(error: unknown): error is ActorErrorLike {
  if (!isObject(error)) return false;
  const { group, code, message } = error;
  return [group, code, message].every((field) => typeof field === "string");
}

/** @internal An error object of another copy of this or the RivetKit package. */
export function isTaggedError(error: unknown): error is ActorErrorLike {
  if (!isErrorLike(error)) return false;
  const tag = (error as { __type?: unknown }).__type;
  return tag === "RivetError" || tag === "ActorError";
}

/** @internal True for a complete actor specifier; anything else is dropped, not guessed. */
export function isSpecifier(value: unknown): value is ActorSpecifier {
  if (!isObject(value)) return false;
  const { actorId, generation, key = "" } = value;
  const numeric = typeof generation === "number" || typeof generation === "bigint";
  return typeof actorId === "string" && numeric && typeof key === "string";
}
