/** Which actor a handle means. */
import { invalidOption } from "../errors/raised";

export interface IdTarget {
  readonly kind: "id";
  readonly name: string;
  readonly actorId: string;
  /** Is there: nothing of it is made from an input. */
  readonly input?: undefined;
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

/** Refuses what is no text, or an empty one. */
export function requireText(option: string, value: unknown): void {
  if (typeof value !== "string" || !value) throw invalidOption(option, "must be a non-empty string");
}

/** A key as the list of its parts; a lone string is a key of one part. */
export function normalizeKey(key: unknown): readonly string[] {
  // A copy: a caller that changes its array later must not redirect the handle.
  const parts: unknown[] = [key ?? []].flat();
  if (parts.some((part) => typeof part !== "string")) {
    throw invalidOption("key", "must be a string or an array of strings");
  }
  return parts as string[];
}
