/** Calls over HTTP, as the published protocol has them. */
import { toBase64 } from "../codec/base64";
import type { Codec } from "../codec/codec";
import { actorNotFound, invalidResponse, networkError } from "../errors/raised";
import { type Encoding, type WireFormat, wireFormat } from "../wire/format";
import { type MessageFormat, messageFormat } from "../wire/messages";
import type { ClientConfig } from "./config";
import { fitsQuery, gatewayHeaders, gatewayUrl, type Place, rawRequest, socketProtocols } from "./gateway";
import { MetadataLookup } from "./metadata";
import { decodeReply, goodBody, jsonReply, refusalOrResponse } from "./reply";
import { type ClientSocket, platformWebSocket } from "./socket";
import { type IdTarget, type KeyTarget, serializeKey, type Target } from "./target";
import type { CallOptions, CreateCall, QueueCall, SocketCall, Transport } from "./transport";

export class HttpTransport implements Transport {
  readonly #config: ClientConfig;
  readonly #codec: Codec;
  readonly #format: WireFormat;
  readonly #json: WireFormat;
  readonly #metadata: MetadataLookup;
  readonly messages: MessageFormat;

  constructor(config: ClientConfig, codec: Codec) {
    this.#config = config;
    this.#codec = codec;
    this.#format = wireFormat(config.encoding, codec);
    this.#json = wireFormat("json", codec);
    this.messages = messageFormat(config.encoding, codec);
    this.#metadata = new MetadataLookup(config, (url, init) => this.#fetch(url, init));
  }

  async action(target: Target, name: string, args: unknown[], options: CallOptions): Promise<unknown> {
    const body = this.#format.encodeAction(args);
    const response = await this.#post(target, `/action/${encodeURIComponent(name)}`, body, options);
    const reply = await goodBody(response, this.#format);
    return decodeReply(response, reply, (bytes) => this.#format.decodeAction(bytes));
  }

  async send(target: Target, call: QueueCall, options: CallOptions) {
    const body = this.#format.encodeQueueSend(call.name, {
      body: call.body,
      wait: call.wait,
      ...(call.timeout !== undefined && { timeout: call.timeout }),
    });
    const response = await this.#post(target, `/queue/${encodeURIComponent(call.name)}`, body, options);
    const reply = await goodBody(response, this.#format);
    return decodeReply(response, reply, (bytes) => this.#format.decodeQueueSend(bytes));
  }

  get encoding(): Encoding {
    return this.#config.encoding;
  }

  async socket(target: Target, call: SocketCall): Promise<ClientSocket> {
    const place = await this.#metadata.place();
    const reachable = await this.#reachable(place, target, call.signal);
    const url = this.#url(place, reachable, call.path).replace(/^http/, "ws");
    const WebSocket = this.#config.WebSocket ?? (await platformWebSocket());
    return new WebSocket(url, socketProtocols(call));
  }

  async fetch(target: Target, request: Request, options: CallOptions): Promise<Response> {
    const place = await this.#metadata.place();
    const reachable = await this.#reachable(place, target, options.signal);
    const { path, headers } = rawRequest(request, gatewayHeaders(place, this.#config, options));
    const url = this.#url(place, reachable, path);
    const init: RequestInit & { duplex?: "half" } = { method: request.method, headers, signal: request.signal };
    if (request.body !== null) {
      init.body = request.body;
      init.duplex = "half";
    }
    const response = await this.#fetch(url, init);
    return refusalOrResponse(response, target, this.#json);
  }

  async resolve(target: Target, signal?: AbortSignal): Promise<string> {
    if (target.kind === "id") return target.actorId;
    const place = await this.#metadata.place();
    return target.kind === "get" ? this.#find(place, target, signal) : this.#getOrCreate(place, target, signal);
  }

  async create(call: CreateCall): Promise<string> {
    const place = await this.#metadata.place();
    return this.#manage(place, "POST", call, call.signal);
  }

  async gatewayUrl(target: Target): Promise<string> {
    const place = await this.#metadata.place();
    return this.#url(place, await this.#reachable(place, target, undefined), "");
  }

  async #post(target: Target, path: string, body: Uint8Array, options: CallOptions): Promise<Response> {
    const place = await this.#metadata.place();
    const reachable = await this.#reachable(place, target, options.signal);
    const headers = gatewayHeaders(place, this.#config, options);
    headers.set("content-type", this.#format.contentType);
    headers.set("x-rivet-encoding", this.#format.encoding);
    const init: RequestInit = { method: "POST", headers, body };
    if (options.signal !== undefined) init.signal = options.signal;
    return this.#fetch(this.#url(place, reachable, path), init);
  }

  /** A target the gateway's URLs can name exactly. */
  async #reachable(place: Place, target: Target, signal: AbortSignal | undefined): Promise<Target> {
    if (target.kind === "id" || fitsQuery(target, this.#codec)) return target;
    const { name } = target;
    const actorId = await (target.kind === "get"
      ? this.#find(place, target, signal)
      : this.#getOrCreate(place, target, signal));
    return { kind: "id", name, actorId } satisfies IdTarget;
  }

  async #find(place: Place, target: KeyTarget, signal: AbortSignal | undefined): Promise<string> {
    const query = new URLSearchParams({ name: target.name, key: serializeKey(target.key) });
    const reply = await this.#api(place, "GET", `/actors?${query}`, undefined, signal);
    const first = Array.isArray(reply.actors) ? (reply.actors[0] as unknown) : undefined;
    if (first === undefined) throw actorNotFound(target.name, target.key);
    return actorIdOf(first);
  }

  #getOrCreate(place: Place, target: KeyTarget, signal: AbortSignal | undefined): Promise<string> {
    return this.#manage(place, "PUT", target, signal);
  }

  async #manage(
    place: Place,
    method: "PUT" | "POST",
    call: Omit<CreateCall, "signal">,
    signal: AbortSignal | undefined,
  ): Promise<string> {
    const body = {
      ...(call.region !== undefined && { datacenter: call.region }),
      name: call.name,
      key: serializeKey(call.key),
      runner_name_selector: call.poolName ?? this.#config.poolName,
      ...(call.input !== undefined && { input: toBase64(this.#codec.encode(call.input, "input")) }),
      crash_policy: "sleep",
    };
    const reply = await this.#api(place, method, "/actors", body, signal);
    return actorIdOf(reply.actor);
  }

  async #api(
    place: Place,
    method: string,
    path: string,
    body: object | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Record<string, unknown>> {
    const headers = new Headers(this.#config.headers);
    if (place.token !== undefined) headers.set("authorization", `Bearer ${place.token}`);
    const init: RequestInit = { method, headers };
    if (signal !== undefined) init.signal = signal;
    if (body !== undefined) {
      headers.set("content-type", "application/json");
      init.body = JSON.stringify(body);
    }
    const separator = path.includes("?") ? "&" : "?";
    const url = `${place.endpoint}${path}${separator}namespace=${encodeURIComponent(place.namespace)}`;
    return jsonReply(await this.#fetch(url, init), this.#json);
  }

  #url(place: Place, target: Target, path: string): string {
    return gatewayUrl(place, this.#config, target, path, this.#codec);
  }

  async #fetch(url: string, init: RequestInit): Promise<Response> {
    try {
      return await this.#config.fetch(url, init);
    } catch (error) {
      // The caller's own abort stays what it is.
      if (init.signal?.aborted === true) throw init.signal.reason;
      throw networkError(this.#config.endpoint, error);
    }
  }
}

function actorIdOf(actor: unknown): string {
  const id = (actor as { actor_id?: unknown } | undefined)?.actor_id;
  if (typeof id !== "string") throw invalidResponse(200, "an actor without actor_id");
  return id;
}
