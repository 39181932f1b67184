/**
 * The error class of both sides of the wire.
 *
 * Owns the shape; which codes exist and how they look to a remote client is
 * decided by the native error table.
 */
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
  actor?: ActorSpecifier;
  /** Request id for correlation with server logs. */
  rayId?: string;
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
  readonly group: string;
  readonly code: string;
  // `declare`: an absent property must not exist as an undefined one.
  declare metadata?: unknown;
  declare actor?: ActorSpecifier;
  declare readonly rayId?: string;
  readonly public: boolean;
  readonly statusCode: number;
  /** The same call may succeed later without a change by the caller. */
  readonly retryable: boolean;

  constructor(group: string, code: string, message: string, options: ActorErrorOptions = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.group = group;
    this.code = code;
    // Absent and `undefined` metadata are one thing; null is another.
    if (options.metadata !== undefined) this.metadata = options.metadata;
    if (options.actor !== undefined) this.actor = options.actor;
    if (options.rayId !== undefined) this.rayId = options.rayId;
    this.public = options.public ?? false;
    this.statusCode = options.statusCode ?? (this.public ? 400 : 500);
    this.retryable = isRetryable(group, code);
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
Object.defineProperty(ActorError.prototype, "name", { value: "ActorError", configurable: true, writable: true });

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
Object.defineProperty(UserError.prototype, "name", { value: "UserError", configurable: true, writable: true });

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
  if (typeof error !== "object" || error === null) return false;
  const { group, code, message } = error as Record<string, unknown>;
  return typeof group === "string" && typeof code === "string" && typeof message === "string";
}

/** @internal An error object of another copy of this or the RivetKit package. */
export function isTaggedError(error: unknown): error is ActorErrorLike {
  if (!isErrorLike(error)) return false;
  const tag = (error as { __type?: unknown }).__type;
  return tag === "RivetError" || tag === "ActorError";
}

/** @internal True for a complete actor specifier; anything else is dropped, not guessed. */
export function isSpecifier(value: unknown): value is ActorSpecifier {
  if (typeof value !== "object" || value === null) return false;
  const { actorId, generation, key } = value as Record<string, unknown>;
  const numeric = typeof generation === "number" || typeof generation === "bigint";
  return typeof actorId === "string" && numeric && (key === undefined || typeof key === "string");
}
