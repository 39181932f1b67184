/**
 * Which structured errors can go away by themselves.
 *
 * A mirror of the `retry()` rows in `crates/error/src/code.rs`, needed because
 * neither the wire nor the bridge carries the flag; a test compares the two.
 * `client/network_error` is the one code that exists on this side only.
 */

/** Refusals at the door: the call has not begun, whatever it was. */
export const REFUSED: readonly string[] = [
  "actor/starting",
  "actor/not_ready",
  "actor/restarting",
  "guard/service_unavailable",
  "guard/actor_stopped_while_waiting",
  "envoy/actor_not_found",
  "envoy/actor_generation_mismatch",
];

/** Refusals that a key outlives: the next attempt finds or makes a new actor. */
export const REFUSED_FOR_KEY: readonly string[] = [
  "actor/destroying",
  "actor/destroyed_while_waiting_for_ready",
  // What an engine says to who came second in a race for a new key.
  "actor/destroyed_during_creation",
];

const RETRYABLE: ReadonlySet<string> = new Set([
  ...REFUSED,
  ...REFUSED_FOR_KEY,
  "actor/stopping",
  "actor/dropped_reply",
  "actor/overloaded",
  "actor/stopped",
  "connection/slow_consumer",
  "engine/unreachable",
  "sqlite/transaction_queue_full",
  "ws/going_away",
  "guard/actor_ready_timeout",
  "guard/actor_wake_retries_exceeded",
  "guard/rate_limit",
  "client/network_error",
]);

export function isRetryable(group: string, code: string): boolean {
  return RETRYABLE.has(`${group}/${code}`);
}

/** @internal Exposed for the test that compares the table with its source. */
export const retryablePairs: ReadonlySet<string> = RETRYABLE;
