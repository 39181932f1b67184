/** Calls over HTTP, as the published protocol has them. */
import { ActorError } from "../errors/actor-error";
import { actorNotFound, invalidResponse, networkError } from "../errors/raised";
import type { Encoding, Formats, MessageFormat, WireFormat } from "../wire/format";
import type { ClientConfig } from "./config";
import type { FormatSource } from "./formats";
import { fitsQuery, gatewayHeaders, gatewayUrl, type Place, rawRequest, socketProtocols } from "./gateway";
import { MetadataLookup } from "./metadata";
import { decodeReply, goodBody, type JsonFormat, jsonReply, refusalOrResponse } from "./reply";
import { type ClientSocket, platformWebSocket } from "./socket";
import { type IdTarget, type KeyTarget, serializeKey, type Target } from "./target";
import type { CallOptions, CreateCall, QueueCall, SocketCall, Transport } from "./transport";

export class HttpTransport implements Transport {
  readonly #config: ClientConfig;
  readonly #source: FormatSource;
  readonly #json: JsonFormat;
  readonly #metadata: MetadataLookup;
  /** Set once the encoding is here; from then on a call is encoded in its own turn. */
  #formats: Formats | undefined;

  constructor(config: ClientConfig, source: FormatSource) {
    this.#config = config;
    this.#source = source;
    this.#json = async () => (await this.#loaded(source.load("json"))).http;
    this.#metadata = new MetadataLookup(config, (url, init) => this.#fetch(url, init), this.#json);
  }

  async action(target: Target, name: string, args: unknown[], options: CallOptions): Promise<unknown> {
    const formats = this.#load();
    // No turn is given away once they are here: `args` are encoded as they are now.
    const format = formats instanceof Promise ? (await formats).http : formats.http;
    const body = format.encodeAction(args);
    const response = await this.#post(target, `/action/${encodeURIComponent(name)}`, format, body, options);
    const reply = await goodBody(response, this.#json, format);
    return decodeReply(response, reply, (bytes) => format.decodeAction(bytes));
  }

  async send(target: Target, call: QueueCall, options: CallOptions) {
    const formats = this.#load();
    const format = formats instanceof Promise ? (await formats).http : formats.http;
    const body = format.encodeQueueSend(call.name, {
      body: call.body,
      wait: call.wait,
      ...(call.timeout !== undefined && { timeout: call.timeout }),
    });
    const response = await this.#post(target, `/queue/${encodeURIComponent(call.name)}`, format, body, options);
    const reply = await goodBody(response, this.#json, format);
    return decodeReply(response, reply, (bytes) => format.decodeQueueSend(bytes));
  }

  get encoding(): Encoding {
    return this.#config.encoding;
  }

  get messages(): MessageFormat | Promise<MessageFormat> {
    const formats = this.#load();
    return formats instanceof Promise ? formats.then(({ messages }) => messages) : formats.messages;
  }

  async socket(target: Target, call: SocketCall): Promise<ClientSocket> {
    const place = await this.#metadata.place();
    const url = (await this.#url(place, target, call.path, call.signal)).replace(/^http/, "ws");
    const WebSocket = this.#config.WebSocket ?? (await platformWebSocket());
    return new WebSocket(url, socketProtocols(call));
  }

  async fetch(target: Target, request: Request, options: CallOptions): Promise<Response> {
    const place = await this.#metadata.place();
    const { path, headers } = rawRequest(request, gatewayHeaders(place, this.#config, options));
    const url = await this.#url(place, target, path, options.signal);
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
    return this.#url(place, target, "", undefined);
  }

  async #post(
    target: Target,
    path: string,
    format: WireFormat,
    body: Uint8Array,
    options: CallOptions,
  ): Promise<Response> {
    const place = await this.#metadata.place();
    const url = await this.#url(place, target, path, options.signal);
    const headers = gatewayHeaders(place, this.#config, options);
    headers.set("content-type", format.contentType);
    headers.set("x-rivet-encoding", format.encoding);
    const init: RequestInit = { method: "POST", headers, body };
    if (options.signal !== undefined) init.signal = options.signal;
    return this.#fetch(url, init);
  }

  /** The URL of an actor's route; by way of its id if the gateway's URLs cannot name the target exactly. */
  async #url(place: Place, target: Target, path: string, signal: AbortSignal | undefined): Promise<string> {
    let reachable = target;
    let input: string | undefined;
    if (target.kind !== "id") {
      input = await this.#input(target.input);
      if (!fitsQuery(target, input)) {
        const actorId = await (target.kind === "get"
          ? this.#find(place, target, signal)
          : this.#getOrCreate(place, target, signal));
        reachable = { kind: "id", name: target.name, actorId } satisfies IdTarget;
      }
    }
    return gatewayUrl(place, this.#config, reachable, path, input);
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
    const input = await this.#input(call.input);
    const body = {
      ...(call.region !== undefined && { datacenter: call.region }),
      name: call.name,
      key: serializeKey(call.key),
      runner_name_selector: call.poolName ?? this.#config.poolName,
      ...(input !== undefined && { input }),
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

  #load(): Formats | Promise<Formats> {
    if (this.#formats !== undefined) return this.#formats;
    const formats = this.#source.load(this.#config.encoding);
    if (formats instanceof Promise) return this.#loaded(formats).then((loaded) => (this.#formats = loaded));
    this.#formats = formats;
    return formats;
  }

  async #input(value: unknown): Promise<string | undefined> {
    return value === undefined ? undefined : this.#loaded(this.#source.input(value));
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
