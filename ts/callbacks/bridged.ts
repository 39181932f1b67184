/** The shape in which native code calls back: `(error, payload) => Promise`. */

import type { ActorLogger } from "../context/service-types";
import { fromNative, isUnexpected, toBridgeError } from "../errors/bridge";

export type NativeCallback<P, R> = (error: unknown, payload: P) => Promise<R>;

/**
 * Makes a handler callable from native code: whatever it throws, also at once,
 * rejects the promise with the bridge's text. What the user did not mean to throw
 * is logged here with its stack, because the bridge carries only its message.
 */
export function bridged<P, R>(
  label: string,
  log: ActorLogger,
  handler: (payload: P) => R | Promise<R>,
): NativeCallback<P, R> {
  return async (error, payload) => {
    try {
      // Native code failed while it built the payload.
      if (error !== null && error !== undefined) throw fromNative(error);
      return await handler(payload);
    } catch (thrown) {
      if (isUnexpected(thrown)) log.warn({ msg: `unexpected error in ${label}`, error: thrown });
      throw toBridgeError(thrown);
    }
  };
}
