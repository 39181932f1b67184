/** Which actor a handle means. */
import { invalidOption } from "../errors/raised";

export interface IdTarget {
  readonly kind: "id";
  readonly name: string;
  readonly actorId: string;
}

export interface KeyTarget {
  readonly kind: "get" | "getOrCreate";
  readonly name: string;
  readonly key: readonly string[];
  /** The three below matter only when the call creates the actor. */
  readonly input?: unknown;
  readonly region?: string | undefined;
  readonly poolName?: string | undefined;
}

export type Target = IdTarget | KeyTarget;

/** A key as the list of its parts; a lone string is a key of one part. */
export function normalizeKey(key: unknown): readonly string[] {
  if (key === undefined || key === null) return [];
  const parts: unknown[] = Array.isArray(key) ? key : [key];
  for (const part of parts) {
    if (typeof part !== "string") throw invalidOption("key", "must be a string or an array of strings");
  }
  // A copy: a caller that changes its array later must not redirect the handle.
  return [...(parts as string[])];
}

/** The slash form of a key, as the endpoint API and error reports use it. */
export function serializeKey(key: readonly string[]): string {
  if (key.length === 0) return "/";
  return key.map((part) => (part === "" ? "\\0" : part.replaceAll("\\", "\\\\").replaceAll("/", "\\/"))).join("/");
}
