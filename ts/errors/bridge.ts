/**
 * The text form in which errors cross between JavaScript and native code.
 *
 * Form: a prefix followed by one JSON object. Native rejections start with it;
 * on the way in, Node may put `Error: ` in front, so decoding searches. Metadata
 * is written with the same `$` tags as every other JSON payload.
 *
 * Does not decide what remote clients may read; native code masks.
 */
import { fromJsonValue, toJsonValue } from "../codec/json";
import { ActorError, type ActorErrorLike, isErrorLike, isSpecifier, isTaggedError } from "./actor-error";
import { messageOf } from "./message";

export const BRIDGE_ERROR_PREFIX = "__RIVET_ERROR_JSON__:";

/** Encodes a structured error as the message of an ordinary one. */
export function encodeBridgeError(error: ActorErrorLike): string {
  const body: Record<string, unknown> = { group: error.group, code: error.code, message: error.message };
  body.public = error.public ?? false;
  body.statusCode = error.statusCode ?? (body.public ? 400 : 500);
  if (error.rayId !== undefined) body.rayId = error.rayId;
  if (error.actor !== undefined) body.actor = error.actor;
  if (error.metadata !== undefined) body.metadata = encodeMetadata(error.metadata);
  return BRIDGE_ERROR_PREFIX + JSON.stringify(body);
}

/** The structured error inside a text, or `undefined` if there is none. */
export function decodeBridgeError(text: string, cause?: unknown): ActorError | undefined {
  const at = text.indexOf(BRIDGE_ERROR_PREFIX);
  if (at < 0) return undefined;
  let body: unknown;
  try {
    body = JSON.parse(text.slice(at + BRIDGE_ERROR_PREFIX.length));
  } catch {
    return undefined;
  }
  return isErrorLike(body) ? fromBody(body, cause) : undefined;
}

/** What a callback throws towards native code, whatever user code threw. */
export function toBridgeError(error: unknown): Error {
  if (error instanceof Error && error.message.startsWith(BRIDGE_ERROR_PREFIX)) return error;
  return new Error(encodeBridgeError(structured(error)));
}

/** True if user code threw it without meaning to tell the caller anything. */
export function isUnexpected(error: unknown): boolean {
  return !(error instanceof ActorError) && !isTaggedError(error);
}

/** Turns what native code threw into the error the user should see. */
export function fromNative(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  return decodeBridgeError(error.message) ?? unconverted(error) ?? error;
}

/** How N-API names an argument that is of another type than the signature's. */
const CONVERSION_FAILED = /^(InvalidArg|[A-Z][A-Za-z]*Expected)$/;

/** The error of an argument that never reached native code, if it is one. */
function unconverted(error: Error & { code?: unknown }): ActorError | undefined {
  if (typeof error.code !== "string" || !CONVERSION_FAILED.test(error.code)) return undefined;
  return new ActorError("napi", "invalid_argument", `Invalid native argument: ${error.message}`, { cause: error });
}

/** Awaits a native call; what it throws or rejects with arrives as an {@link ActorError}. */
export async function fromNativePromise<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    // Thrown from here, not passed on, so that the stack shows the caller.
    throw fromNative(error);
  }
}

/** Calls a native method; what it throws arrives as an {@link ActorError}. */
export function callNative<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw fromNative(error);
  }
}

function structured(error: unknown): ActorErrorLike {
  if (!isUnexpected(error)) return error as ActorErrorLike;
  if (isErrorLike(error) && error.public === true) return error;
  // A bridge text inside a longer message: user code wrapped a native error.
  if (error instanceof Error) {
    const inner = decodeBridgeError(error.message);
    if (inner !== undefined) return inner;
  }
  return { group: "rivetkit", code: "internal_error", message: messageOf(error), public: false, statusCode: 500 };
}

function encodeMetadata(metadata: unknown): unknown {
  try {
    return toJsonValue(metadata, "metadata");
  } catch (error) {
    // The error itself matters more than its details: it must still arrive.
    return { error: `metadata could not be encoded: ${messageOf(error)}` };
  }
}

function fromBody(body: ActorErrorLike, cause?: unknown): ActorError {
  const error = new ActorError(body.group, body.code, body.message, {
    rayId: typeof body.rayId === "string" ? body.rayId : undefined,
    actor: isSpecifier(body.actor) ? body.actor : undefined,
    ...(body.public === true && { public: true }),
    ...(typeof body.statusCode === "number" && { statusCode: body.statusCode }),
    cause,
  });
  // The bridge writes null for "no metadata".
  if (body.metadata !== undefined && body.metadata !== null) error.metadata = reviveMetadata(body.metadata);
  return error;
}

function reviveMetadata(metadata: unknown): unknown {
  try {
    return fromJsonValue(metadata);
  } catch {
    return metadata;
  }
}
