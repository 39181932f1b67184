/**
 * Which structured errors can go away by themselves.
 *
 * A mirror of the `retry()` rows in `crates/error/src/code.rs`, needed because
 * neither the wire nor the bridge carries the flag; a test compares the two.
 * `client/network_error` is the one code that exists on this side only.
 */
const RETRYABLE: ReadonlySet<string> = new Set([
  "actor/starting",
  "actor/not_ready",
  "actor/stopping",
  "actor/restarting",
  "actor/destroying",
  "actor/dropped_reply",
  "actor/overloaded",
  "actor/stopped",
  "actor/destroyed_while_waiting_for_ready",
  "connection/slow_consumer",
  "engine/unreachable",
  "sqlite/transaction_queue_full",
  "ws/going_away",
  "guard/actor_ready_timeout",
  "guard/actor_wake_retries_exceeded",
  "guard/actor_stopped_while_waiting",
  "guard/rate_limit",
  "guard/service_unavailable",
  "client/network_error",
]);

export function isRetryable(group: string, code: string): boolean {
  return RETRYABLE.has(`${group}/${code}`);
}

/** @internal Exposed for the test that compares the table with its source. */
export const retryablePairs: ReadonlySet<string> = RETRYABLE;
