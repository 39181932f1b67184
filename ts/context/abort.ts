/** From native cancellation to AbortSignal and back. */
import type { NativeModule } from "../native/registry-types";
import type { NativeCancellationToken } from "../native/types";

/** What ends with an actor: one listener on its signal, however many calls there are. */
export class AbortFan {
  readonly #calls = new Set<() => void>();

  constructor(readonly signal: AbortSignal) {
    const abort = () => {
      for (const call of [...this.#calls]) call();
    };
    signal.addEventListener("abort", abort, { once: true });
  }

  add(call: () => void): void {
    this.#calls.add(call);
  }

  remove(call: () => void): void {
    this.#calls.delete(call);
  }
}

/** The signal of one call. */
export interface CallSignal {
  readonly signal: AbortSignal;
  /** The call is over: the signal does not fire any more, and nothing holds it. */
  unlink(): void;
  /** Fires it, if it has not fired. */
  end(): void;
}

/** A signal that fires with its actor, or when the token is cancelled. */
export function linkedSignal(actor: AbortFan, token: NativeCancellationToken): CallSignal {
  const controller = new AbortController();
  let linked = true;
  const unlink = () => {
    linked = false;
    actor.remove(end);
  };
  const end = () => {
    if (!linked) return;
    unlink();
    controller.abort();
  };
  if (actor.signal.aborted || token.aborted()) {
    controller.abort();
  } else {
    actor.add(end);
    token.onCancelled(end);
  }
  return { signal: controller.signal, unlink, end };
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
