/** Calls over HTTP, as the published protocol has them. */
import { ActorError } from "../errors/actor-error";
import { invalidOption, networkError } from "../errors/raised";
import type { Encoding, Formats, MessageFormat, WireFormat } from "../wire/format";
import type { ClientConfig } from "./config";
import type { Endpoint } from "./endpoint-api";
import { fitsQuery, gatewayHeaders, gatewayUrl, headersWith, type Place, socketProtocols } from "./gateway";
import type { Parts } from "./parts";
import { type JsonFormat, jsonReply, replyOf } from "./reply";
import type { ClientSocket, WebSocketClass } from "./socket";
import type { KeyTarget, Target } from "./target";
import type { CallOptions, CreateCall, QueueCall, SocketCall, Transport } from "./transport";

export class HttpTransport implements Transport {
  readonly #config: ClientConfig;
  readonly #parts: Parts;
  readonly #json: JsonFormat;
  /** Set once the encoding is here; from then on a call is encoded in its own turn. */
  #formats: Formats | undefined;
  #place: Promise<Place> | undefined;

  constructor(config: ClientConfig, parts: Parts) {
    this.#config = config;
    this.#parts = parts;
    this.#json = async () => (await this.#loaded(parts.formats("json"))).http;
  }

  action(target: Target, name: string, args: unknown[], options: CallOptions): Promise<unknown> {
    const path = `/action/${encodeURIComponent(name)}`;
    return this.#call(target, path, options, (format) => [format.encodeAction(args), format.decodeAction]);
  }

  send(target: Target, call: QueueCall, options: CallOptions) {
    const path = `/queue/${encodeURIComponent(call.name)}`;
    return this.#call(target, path, options, (format) => [format.encodeQueueSend(call), format.decodeQueueSend]);
  }

  get encoding(): Encoding {
    return this.#config.encoding;
  }

  async messages(): Promise<MessageFormat> {
    return (await this.#load()).messages;
  }

  async socket(target: Target, call: SocketCall): Promise<ClientSocket> {
    const { url } = await this.#route(target, call.path, call);
    const own = (globalThis as { WebSocket?: WebSocketClass }).WebSocket;
    const WebSocket = this.#config.WebSocket ?? own ?? (await this.#parts.webSocket?.());
    if (!WebSocket) throw invalidOption("WebSocket", "is needed: this platform has none");
    return new WebSocket(url.replace(/^http/, "ws"), socketProtocols(call));
  }

  async fetch(
    target: Target,
    input: string | URL | Request,
    init: RequestInit,
    options: CallOptions,
  ): Promise<Response> {
    const { rawFetch, rawPath, rawInit } = await this.#loaded(this.#parts.rawHttp());
    return rawFetch({ target, input, init, signal: options.signal }, this.#json, async (request) => {
      const { url, headers } = await this.#route(target, rawPath(request), options);
      return this.#fetch(url, rawInit(request, headers));
    });
  }

  async resolve(target: KeyTarget, signal?: AbortSignal): Promise<string> {
    const { idOf } = await this.#loaded(this.#parts.endpointApi());
    return idOf(await this.#endpoint(signal), target, await this.#input(target.input));
  }

  async create(call: CreateCall): Promise<string> {
    const { makeActor } = await this.#loaded(this.#parts.endpointApi());
    return makeActor(await this.#endpoint(call.signal), "POST", call, await this.#input(call.input));
  }

  async gatewayUrl(target: Target): Promise<string> {
    return (await this.#route(target, "", {})).url;
  }

  async #call<T>(
    target: Target,
    path: string,
    options: CallOptions,
    coded: (format: WireFormat) => [body: Uint8Array, decode: (body: Uint8Array) => T],
  ): Promise<T> {
    const formats = this.#load();
    // No turn is given away once they are here: arguments are encoded as they are now.
    const { http } = formats instanceof Promise ? await formats : formats;
    const [body, decode] = coded(http);
    const { url, headers } = await this.#route(target, path, options);
    headers.set("content-type", http.contentType);
    headers.set("x-rivet-encoding", http.encoding);
    const response = await this.#fetch(url, { method: "POST", headers, body, signal: options.signal ?? null });
    return replyOf(response, this.#json, http, decode);
  }

  /** URL and headers of an actor's route; by way of its id if the gateway's URLs cannot name the target exactly. */
  async #route(target: Target, path: string, options: CallOptions): Promise<{ url: string; headers: Headers }> {
    const place = await this.#where();
    const headers = gatewayHeaders(place, this.#config, options);
    const input = target.kind === "id" ? undefined : await this.#input(target.input);
    const reachable: Target =
      target.kind === "id" || fitsQuery(target, input)
        ? target
        : { kind: "id", name: target.name, actorId: await this.resolve(target, options.signal) };
    return { url: gatewayUrl(place, this.#config, reachable, path, input), headers };
  }

  async #endpoint(signal: AbortSignal | undefined): Promise<Endpoint> {
    const fetch = (url: string, init: RequestInit) => this.#fetch(url, init);
    return { config: this.#config, place: await this.#where(), signal, json: this.#json, fetch };
  }

  /**
   * Where the host wants its clients. Asked once per client, and only where an
   * answer is possible (see `disableMetadataLookup`); a failed question fails the
   * calls that waited for it, and the next call asks again.
   */
  #where(): Promise<Place> {
    this.#place ??= this.#ask().catch((error) => {
      this.#place = undefined;
      throw error;
    });
    return this.#place;
  }

  async #ask(): Promise<Place> {
    const config = this.#config;
    if (!config.metadataLookup) return config;
    const { endpoint, namespace, token } = config;
    const url = `${endpoint}/metadata?namespace=${encodeURIComponent(namespace)}`;
    const headers = headersWith(config, { authorization: token && `Bearer ${token}` });
    const reply = await jsonReply(await this.#fetch(url, { headers }), this.#json);
    const text = <T>(name: string, otherwise: T) => (typeof reply[name] === "string" ? reply[name] : otherwise);
    const given = text("clientEndpoint", undefined);
    if (!given) return config;
    return {
      endpoint: given.replace(/\/+$/, ""),
      namespace: text("clientNamespace", namespace),
      token: text("clientToken", token),
    };
  }

  #load(): Formats | Promise<Formats> {
    if (this.#formats) return this.#formats;
    const formats = this.#parts.formats(this.#config.encoding);
    const keep = (loaded: Formats) => (this.#formats = loaded);
    return formats instanceof Promise ? this.#loaded(formats).then(keep) : keep(formats);
  }

  async #input(value: unknown): Promise<string | undefined> {
    return value === undefined ? undefined : this.#loaded(this.#parts.input(value));
  }

  /** Code that cannot be fetched now may be there later, as the host may. */
  async #loaded<T>(code: T | Promise<T>): Promise<T> {
    try {
      return await code;
    } catch (error) {
      throw error instanceof ActorError ? error : networkError("greenroom/client", error);
    }
  }

  async #fetch(url: string, init: RequestInit): Promise<Response> {
    try {
      return await this.#config.fetch(url, init);
    } catch (error) {
      // The caller's own abort stays what it is.
      if (init.signal?.aborted) throw init.signal.reason;
      throw networkError(this.#config.endpoint, error);
    }
  }
}
