/**
 * When a call is made again.
 *
 * Rule: only after errors that say the call has not begun. An error that leaves
 * it open whether the actor ran (a dropped reply, an actor that stopped in the
 * middle, a lost connection) goes to the caller, with `retryable` set where it
 * applies: only the caller knows if running twice is harmless.
 */
import { pause } from "../common/abort";
import { ActorError } from "../errors/actor-error";
import { REFUSED, REFUSED_FOR_KEY } from "../errors/retryable";
import type { Target } from "./target";

const ATTEMPTS = 20;
const FIRST_DELAY_MS = 25;
const MAX_DELAY_MS = 200;

export async function withRetry<T>(
  target: Target,
  signal: AbortSignal | undefined,
  call: () => Promise<T>,
): Promise<T> {
  let delay = FIRST_DELAY_MS;
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted();
    try {
      return await call();
    } catch (error) {
      if (attempt >= ATTEMPTS || !isRefusal(error, target)) throw error;
    }
    await pause(delay, signal);
    delay = Math.min(delay * 2, MAX_DELAY_MS);
  }
}

/** True if the call certainly did not reach user code and may be made again. */
export function isRefusal(error: unknown, target: Target): boolean {
  if (!(error instanceof ActorError)) return false;
  const pair = `${error.group}/${error.code}`;
  // A gateway that waits for the head of a response has delivered the request.
  if (REFUSED.test(pair)) return field(error, "phase") !== "waiting_for_response_start";
  if (target.kind !== "id" && REFUSED_FOR_KEY.test(pair)) return true;
  // The actor was there, then destroyed, before the call came to it.
  if (target.kind === "getOrCreate" && pair === "actor/not_found") return field(error, "resource") !== "route";
  return pair === "actor/overloaded" && field(error, "channel") === "dispatch_inbox";
}

function field(error: ActorError, name: string): unknown {
  return (error.metadata as Record<string, unknown> | undefined)?.[name];
}
