/** From native cancellation to AbortSignal and back. */
import type { NativeModule } from "../native/registry-types";
import type { NativeCancellationToken } from "../native/types";

/** A signal that fires with another one, or when the token is cancelled. */
export function linkedSignal(outer: AbortSignal, token: NativeCancellationToken): AbortSignal {
  const controller = new AbortController();
  const abort = () => {
    // The outer signal lives as long as the actor: do not stay on its list.
    outer.removeEventListener("abort", abort);
    controller.abort();
  };
  if (outer.aborted || token.aborted()) {
    controller.abort();
  } else {
    outer.addEventListener("abort", abort, { once: true });
    token.onCancelled(abort);
  }
  return controller.signal;
}

/** Runs a native wait that ends when the caller's signal fires. */
export async function withToken<T>(
  native: Pick<NativeModule, "CancellationToken">,
  signal: AbortSignal | undefined,
  wait: (token: NativeCancellationToken | undefined) => Promise<T>,
): Promise<T> {
  if (signal === undefined) return wait(undefined);
  const token = new native.CancellationToken();
  const cancel = () => token.cancel();
  if (signal.aborted) token.cancel();
  signal.addEventListener("abort", cancel, { once: true });
  try {
    return await wait(token);
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}
