/** Calls inside the process: straight to native code, without a socket. */

import type { Target } from "../client/target";
import type { CallOptions, CreateCall, QueueCall, Transport } from "../client/transport";
import type { Codec } from "../codec/codec";
import { fromNativePromise } from "../errors/bridge";
import { notConfigured } from "../errors/raised";
import type { LocalCallOptions, LocalTarget, NativeRegistry } from "../native/registry-types";
import type { QueueSendReply } from "../wire/format";

export class LocalTransport implements Transport {
  readonly #open: () => Promise<NativeRegistry>;
  readonly #codec: Codec;

  constructor(open: () => Promise<NativeRegistry>, codec: Codec) {
    this.#open = open;
    this.#codec = codec;
  }

  async action(target: Target, name: string, args: unknown[], { params, signal }: CallOptions): Promise<unknown> {
    const encoded = this.#codec.encode(args, "args");
    const options: LocalCallOptions = params === undefined ? {} : { params: this.#codec.encode(params, "params") };
    const registry = await this.#open();
    const call = fromNativePromise(() => registry.localAction(this.#target(target), name, encoded, options));
    return this.#codec.decode(await unlessAborted(call, signal));
  }

  async resolve(target: Target, signal?: AbortSignal): Promise<string> {
    const registry = await this.#open();
    return unlessAborted(
      fromNativePromise(() => registry.localResolve(this.#target(target))),
      signal,
    );
  }

  async create({ name, key, input, signal }: CreateCall): Promise<string> {
    const registry = await this.#open();
    const bytes = input === undefined ? undefined : this.#codec.encode(input, "input");
    return unlessAborted(
      fromNativePromise(() => registry.localCreate(name, [...key], bytes)),
      signal,
    );
  }

  async send(_: Target, __: QueueCall): Promise<QueueSendReply> {
    throw notConfigured("queue send inside the process", "It comes with a later version.");
  }

  async fetch(): Promise<Response> {
    throw notConfigured("fetch inside the process", "It comes with a later version.");
  }

  async gatewayUrl(): Promise<string> {
    throw notConfigured("gateway URL inside the process", "Use createClient with the URL of registry.listen().");
  }

  #target(target: Target): LocalTarget {
    if (target.kind === "id") return { actorId: target.actorId };
    const { name, key, kind, input } = target;
    const bytes = input === undefined ? undefined : this.#codec.encode(input, "input");
    return { name, key: [...key], method: kind, ...(bytes !== undefined && { input: bytes }) };
  }
}

/** Stops waiting when the signal fires; the call itself cannot be taken back. */
function unlessAborted<T>(call: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return call;
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    call.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
