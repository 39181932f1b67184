/**
 * Which structured errors can go away by themselves.
 *
 * A mirror of the `retry()` rows in `crates/error/src/code.rs`, needed because
 * neither the wire nor the bridge carries the flag; a test compares the two.
 * Others exist on this side only: `client/network_error`, and what an engine says.
 */

/** Refusals at the door: the call has not begun, whatever it was. */
export const REFUSED =
  /^(actor\/(starting|not_ready|restarting)|guard\/(service_unavailable|actor_stopped_while_waiting)|envoy\/actor_(not_found|generation_mismatch))$/;

/**
 * Refusals that a key outlives: the next attempt finds or makes a new actor. The last is
 * what an engine says to who came second in a race for a new key.
 */
export const REFUSED_FOR_KEY = /^actor\/destroy(ing|ed_(while_waiting_for_ready|during_creation))$/;

/**
 * What else may not be met again. `ws/meta_not_found_during_restore` is an engine's word
 * for an actor that moved to another process before that knew of the connection.
 */
const PASSING =
  /^(actor\/(stopp(ing|ed)|dropped_reply|overloaded)|connection\/slow_consumer|engine\/unreachable|sqlite\/transaction_queue_full|ws\/(going_away|meta_not_found_during_restore)|client\/network_error)$/;

/**
 * What goes wrong on the way to an actor passes, and an engine has many words for it;
 * but for what is wrong about the request.
 */
const ON_THE_WAY = /^guard\/(?!no_|miss|invalid|query|request_[bt]|websocket_n|uri|http)/;

export function isRetryable(group: string, code: string): boolean {
  const pair = `${group}/${code}`;
  return [PASSING, ON_THE_WAY, REFUSED, REFUSED_FOR_KEY].some((each) => each.test(pair));
}
