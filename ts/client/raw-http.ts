/**
 * A user's own HTTP requests to an actor's `onRequest`. A page loads this with
 * the first of them.
 */
import { errorFrom, isJson, type JsonFormat } from "./reply";
import { isRefusal, withRetry } from "./retry";
import type { Route } from "./routes";
import type { Target } from "./target";

/** Host name of requests that were made from a mere path. */
const NO_HOST = "actor";

type Init = RequestInit & { duplex?: "half" };

/**
 * Requests, by the bodies of their responses. The signal of a `Request` follows the one
 * that it was made with only while the request itself is in memory: once the garbage
 * collector takes it, an abort does nothing, and the response goes on for ever.
 */
const requests = new WeakMap<ReadableStream, unknown[]>();

/** What `fetch` of a handle was given. */
export interface RawCall {
  readonly target: Target;
  readonly input: string | URL | Request;
  readonly init: RequestInit;
  readonly signal: AbortSignal | undefined;
}

/** Sends a request by `attempt`, again if it was refused at the door and can be sent twice. */
export async function rawFetch(
  { target, input, init, signal }: RawCall,
  json: JsonFormat,
  attempt: (request: Request) => Promise<Response>,
): Promise<Response> {
  const call = async () => {
    const request = toRequest(input, init, signal);
    const response = await refusalOrResponse(await attempt(request), target, json);
    // A `Request` that was given has a signal of its own.
    if (response.body !== null) requests.set(response.body, [request, input]);
    return response;
  };
  // A body that is a stream can be read once: no second attempt.
  const isStream = init.body instanceof ReadableStream || (input instanceof Request && input.body !== null);
  return isStream ? call() : withRetry(target, signal, call);
}

/** How the network carries it. */
export interface Network {
  readonly json: JsonFormat;
  route(path: string): Promise<Route>;
  fetch(url: string, init: RequestInit): Promise<Response>;
}

export function rawFetchOver({ json, route, fetch }: Network, call: RawCall): Promise<Response> {
  return rawFetch(call, json, async (request) => {
    const { url, headers } = await route(rawPath(request));
    return fetch(url, rawInit(request, headers));
  });
}

/** Route of a user's request inside the actor. */
export function rawPath(request: Request): string {
  const { pathname, search } = new URL(request.url);
  return `/request${pathname}${search}`;
}

/** A user's request as it goes to the route's URL; `headers` are the gateway's. */
export function rawInit(
  { url, method, body, signal, headers: own }: Request,
  headers: Headers,
): Init & { headers: Headers } {
  for (const [name, value] of own) headers.set(name, value);
  if (new URL(url).host !== NO_HOST) headers.set("x-rivet-internal-original-request-url", url);
  return { method, headers, signal, ...(body !== null && { body, duplex: "half" }) };
}

/** Paths are relative to the actor; the host of a URL is kept for its handler. */
function toRequest(input: string | URL | Request, init: RequestInit, signal: AbortSignal | undefined): Request {
  const options: Init = { ...init, ...(signal !== undefined && { signal }) };
  if (options.body instanceof ReadableStream) options.duplex = "half";
  if (typeof input !== "string") return new Request(input, options);
  return new Request(new URL(input.startsWith("/") ? input : `/${input}`, `http://${NO_HOST}`), options);
}

/** A handler's own 4xx and 5xx are replies; only the host's refusals are errors. */
async function refusalOrResponse(response: Response, target: Target, json: JsonFormat): Promise<Response> {
  if (response.ok || !isJson(response)) return response;
  const error = await errorFrom(response, new Uint8Array(await response.clone().arrayBuffer()), json);
  if (!isRefusal(error, target)) return response;
  await response.body?.cancel();
  throw error;
}
