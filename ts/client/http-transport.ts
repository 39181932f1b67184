/** Calls over HTTP, as the published protocol has them. */
import { networkError } from "../errors/client";
import type { Formats, WireFormat } from "../wire/format";
import type { ClientConfig } from "./config";
import { loaded } from "./loaded";
import type { Parts } from "./parts";
import { type JsonFormat, replyOf } from "./reply";
import { routesOf } from "./routes";
import type { Target } from "./target";
import type { CallOptions, Transport } from "./transport";

/** What a call sends, and how its answer is read. */
type Coded<T> = [body: Uint8Array, decode: (body: Uint8Array) => T];

export function httpTransport(config: ClientConfig, parts: Parts): Transport {
  const { encoding } = config;
  const json: JsonFormat = async () => (await loaded(parts.formats("json"))).http;
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    try {
      return await config.fetch(url, init);
    } catch (error) {
      // The caller's own abort stays what it is.
      if (init.signal?.aborted) throw init.signal.reason;
      throw networkError(config.endpoint, error);
    }
  };
  const { route, resolve, create } = routesOf(config, parts, fetch, json);

  let formats: Formats | undefined;
  const load = (): Formats | Promise<Formats> => {
    if (formats) return formats;
    const found = parts.formats(encoding);
    const keep = (here: Formats) => (formats = here);
    return found instanceof Promise ? loaded(found).then(keep) : keep(found);
  };

  const call = async <T>(
    target: Target,
    path: string,
    options: CallOptions,
    code: (format: WireFormat) => Coded<T>,
  ): Promise<T> => {
    const formats = load();
    // No turn is given away once they are here: arguments are encoded as they are now.
    const { http } = formats instanceof Promise ? await formats : formats;
    const [body, decode] = code(http);
    const { url, headers } = await route(target, path, options);
    headers.set("content-type", http.contentType);
    headers.set("x-rivet-encoding", http.encoding);
    const response = await fetch(url, { method: "POST", headers, body, signal: options.signal ?? null });
    return replyOf(response, json, http, decode);
  };

  return {
    encoding,
    resolve,
    create,
    action: (target, name, args, options) =>
      call(target, `/action/${encodeURIComponent(name)}`, options, (format) => [
        format.encodeAction(args),
        format.decodeAction,
      ]),
    send: (target, message, options) =>
      call(target, `/queue/${encodeURIComponent(message.name)}`, options, (format) => [
        format.encodeQueueSend(message),
        format.decodeQueueSend,
      ]),
    gatewayUrl: async (target) => (await route(target, "", {})).url,
    messages: async () => (await load()).messages,
    line: async () => (await loaded(parts.sockets())).openLine,
    async socket(target, call) {
      const { openSocket } = await loaded(parts.sockets());
      const { url } = await route(target, call.path, call);
      return openSocket(config, url, call, parts.webSocket);
    },
    async fetch(target, input, init, options) {
      const { rawFetchOver } = await loaded(parts.rawHttp());
      const call = { target, input, init, signal: options.signal };
      return rawFetchOver({ json, fetch, route: (path) => route(target, path, options) }, call);
    },
  };
}
