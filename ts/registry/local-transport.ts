/** Calls inside the process: straight to native code, without a socket. */

import { openLine } from "../client/connection/line";
import { fitsQuery, gatewayHeaders, gatewayUrl } from "../client/gateway";
import { socketProtocols } from "../client/open-socket";
import { rawFetch, rawInit, rawPath } from "../client/raw-http";
import type { ClientSocket } from "../client/socket";
import type { KeyTarget, Target } from "../client/target";
import type { CallOptions, CreateCall, QueueCall, SocketCall, Transport } from "../client/transport";
import { toBase64 } from "../codec/base64";
import type { Codec } from "../codec/codec";
import { unlessAborted } from "../common/abort";
import { withToken } from "../context/abort";
import { fromNativePromise } from "../errors/bridge";
import { notConfigured } from "../errors/raised";
import type { LocalCallOptions, LocalTarget, NativeModule, NativeRegistry } from "../native/registry-types";
import type { MessageFormat, QueueSendReply } from "../wire/format";
import { formatsOf } from "../wire/formats";
import { jsonFormats } from "../wire/json-format";
import { localFetch } from "./local-fetch";
import { LocalSocket } from "./local-socket";

/** Where calls of this process go. */
const HERE = { endpoint: "", namespace: "default", token: undefined, poolName: "default" };
const NO_HEADERS = { headers: {} };

export class LocalTransport implements Transport {
  readonly #open: () => Promise<NativeRegistry>;
  readonly #codec: Codec;
  readonly #native: () => NativeModule;
  readonly encoding = "bare";
  readonly #messages: MessageFormat;

  constructor(open: () => Promise<NativeRegistry>, { codec, native }: { codec: Codec; native: () => NativeModule }) {
    this.#open = open;
    this.#codec = codec;
    this.#native = native;
    this.#messages = formatsOf(this.encoding, codec).messages;
  }

  async line(): Promise<typeof openLine> {
    return openLine;
  }

  async messages(): Promise<MessageFormat> {
    return this.#messages;
  }

  /** A socket as over the network, without the network. */
  async socket(target: Target, call: SocketCall): Promise<ClientSocket> {
    const registry = await this.#open();
    const path = await this.#path(target, call.path, call.signal);
    call.signal?.throwIfAborted();
    return new LocalSocket(registry, path, socketProtocols(call).join(", "));
  }

  async action(target: Target, name: string, args: unknown[], { params, signal }: CallOptions): Promise<unknown> {
    const encoded = this.#codec.encode(args, "args");
    const options: LocalCallOptions = params === undefined ? {} : { params: this.#codec.encode(params, "params") };
    const registry = await this.#open();
    const call = fromNativePromise(() => registry.localAction(this.#target(target), name, encoded, options));
    return this.#codec.decode(await unlessAborted(call, signal));
  }

  async resolve(target: KeyTarget, signal?: AbortSignal): Promise<string> {
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

  async send(target: Target, call: QueueCall, { params, signal }: CallOptions): Promise<QueueSendReply> {
    const { name, wait, timeout } = call;
    const body = this.#codec.encode(call.body, "body");
    const options = {
      wait,
      ...(timeout !== undefined && { timeoutMs: timeout }),
      ...(params !== undefined && { params: this.#codec.encode(params, "params") }),
    };
    const registry = await this.#open();
    const sent = withToken(this.#native(), signal, (token) =>
      fromNativePromise(() => registry.localQueueSend(this.#target(target), name, body, options, token)),
    );
    const { status, response } = await unlessAborted(sent, signal);
    return { status, ...(response != null && { response: this.#codec.decode(response) }) };
  }

  async fetch(
    target: Target,
    input: string | URL | Request,
    init: RequestInit,
    options: CallOptions,
  ): Promise<Response> {
    const json = async () => jsonFormats.http;
    return rawFetch({ target, input, init, signal: options.signal }, json, async (request) => {
      const registry = await this.#open();
      const { headers } = rawInit(request, gatewayHeaders(HERE, NO_HEADERS, options));
      const path = await this.#path(target, rawPath(request), options.signal);
      return localFetch(registry, request, { path, headers });
    });
  }

  async gatewayUrl(): Promise<string> {
    throw notConfigured("gateway URL inside the process", "Use createClient with the URL of registry.listen().");
  }

  /** The gateway path of an actor's route. */
  async #path(target: Target, route: string, signal: AbortSignal | undefined): Promise<string> {
    const bytes = this.#input(target);
    const input = bytes && toBase64(bytes);
    const reachable =
      target.kind === "id" || fitsQuery(target, input)
        ? target
        : ({ kind: "id", name: target.name, actorId: await this.resolve(target, signal) } as const);
    return gatewayUrl(HERE, HERE, reachable, route, input);
  }

  #target(target: Target): LocalTarget {
    if (target.kind === "id") return { actorId: target.actorId };
    const { name, key, kind } = target;
    const input = this.#input(target);
    return { name, key: [...key], method: kind, ...(input !== undefined && { input }) };
  }

  #input(target: Target): Uint8Array | undefined {
    if (target.kind === "id" || target.input === undefined) return undefined;
    return this.#codec.encode(target.input, "input");
  }
}
