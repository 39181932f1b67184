/** Errors of native SQL, as the user should see them. */
import { ActorError } from "../errors/actor-error";
import { fromNative } from "../errors/bridge";

/** Stands before what SQLite said, after the name of the actor. */
const CAUSE = "Caused by:\n    ";

const STORAGE_TROUBLE = /i\/o error|unable to open database file/i;

/**
 * SQLite's own text becomes the message; the metadata keeps it with its context.
 * About storage trouble SQLite says little, but the storage may know more.
 */
export function explain(thrown: unknown, lastStorageError: () => string | null): unknown {
  const error = fromNative(thrown);
  if (!(error instanceof ActorError)) return error;
  const text = sqliteText(error) ?? error.message;
  const detail = STORAGE_TROUBLE.test(text) ? lastStorageError() : null;
  const message = detail === null ? text : `${text} (${detail})`;
  return new ActorError(error.group, error.code, message, {
    metadata: error.metadata,
    ...(error.statusCode !== undefined && { statusCode: error.statusCode }),
    ...(error.public !== undefined && { public: error.public }),
    ...(error.actor !== undefined && { actor: error.actor }),
    ...(error.rayId !== undefined && { rayId: error.rayId }),
  });
}

/** What SQLite said, out of the text that names the actor, too. */
function sqliteText(error: ActorError): string | undefined {
  if (error.group !== "core" || error.code !== "internal_error") return undefined;
  const detail = (error.metadata as { error?: unknown } | undefined)?.error;
  if (typeof detail !== "string") return undefined;
  const at = detail.lastIndexOf(CAUSE);
  return at < 0 ? detail : detail.slice(at + CAUSE.length);
}
