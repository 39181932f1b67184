/** URLs and headers that lead a request through the gateway to an actor. */
import type { ClientConfig } from "./config";
import type { KeyTarget, Target } from "./target";
import type { CallOptions, SocketCall } from "./transport";

/** Host name of requests that were made from a mere path. */
export const NO_HOST = "actor";

/** Longest input in a URL, in base64: 4,095 bytes. Larger ones go by way of the endpoint API. */
const MAX_INPUT_LENGTH = 5460;

/** Where requests go: the endpoint, or what its metadata named instead. */
export interface Place {
  readonly endpoint: string;
  readonly namespace: string;
  readonly token: string | undefined;
}

/**
 * The full URL of an actor's route; `path` starts with `/` and may have a query.
 * `input` is the target's, as base64.
 */
export function gatewayUrl(
  place: Place,
  config: Pick<ClientConfig, "poolName">,
  target: Target,
  path: string,
  input: string | undefined,
): string {
  const url =
    target.kind === "id" ? directPath(place, target.actorId, path) : queryPath(place, config, target, path, input);
  return place.endpoint + url;
}

/**
 * Whether the query form can express a target. It joins the parts of a key with
 * commas and cannot tell `["a,b"]` from `["a", "b"]`, nor `[""]` from `[]`; and
 * URLs have limits.
 */
export function fitsQuery(target: KeyTarget, input: string | undefined): boolean {
  if (target.key.some((part) => part.includes(",")) || (target.key.length === 1 && target.key[0] === "")) return false;
  return input === undefined || input.length <= MAX_INPUT_LENGTH;
}

function directPath(place: Place, actorId: string, path: string): string {
  const token = place.token === undefined ? "" : `@${encodeURIComponent(place.token)}`;
  return `/gateway/${encodeURIComponent(actorId)}${token}${path}`;
}

function queryPath(
  place: Place,
  config: Pick<ClientConfig, "poolName">,
  target: KeyTarget,
  path: string,
  input: string | undefined,
): string {
  const at = path.indexOf("?");
  const [route, userQuery] = at < 0 ? [path, ""] : [path.slice(0, at), path.slice(at + 1)];
  const query = new URLSearchParams({ "rvt-namespace": place.namespace, "rvt-method": target.kind });
  if (target.kind === "getOrCreate") query.set("rvt-runner", target.poolName ?? config.poolName);
  if (target.key.length > 0) query.set("rvt-key", target.key.join(","));
  if (target.kind === "getOrCreate") {
    if (input !== undefined) query.set("rvt-input", urlSafe(input));
    if (target.region !== undefined) query.set("rvt-region", target.region);
    query.set("rvt-crash-policy", "sleep");
  }
  if (place.token !== undefined) query.set("rvt-token", place.token);
  // The user's query comes first and byte for byte: it is theirs.
  return `/gateway/${encodeURIComponent(target.name)}${route}?${userQuery === "" ? "" : `${userQuery}&`}${query}`;
}

/** Headers of a gateway request besides its body's. */
export function gatewayHeaders(place: Place, config: Pick<ClientConfig, "headers">, options: CallOptions): Headers {
  const headers = new Headers(config.headers);
  if (place.token !== undefined) headers.set("x-rivet-token", place.token);
  if (options.skipReadyWait === true) headers.set("x-rivet-skip-ready-wait", "1");
  if (options.params !== undefined) headers.set("x-rivet-conn-params", asciiJson(options.params));
  return headers;
}

/** Route and headers of a user's request; `headers` are the gateway's. */
export function rawRequest(request: Request, headers: Headers): { path: string; headers: Headers } {
  const { host, pathname, search } = new URL(request.url);
  for (const [name, value] of request.headers) headers.set(name, value);
  if (host !== NO_HOST) headers.set("x-rivet-internal-original-request-url", request.url);
  return { path: `/request${pathname}${search}`, headers };
}

/** What a WebSocket says of itself: browsers let it say nothing else. */
export function socketProtocols({ encoding, skipReadyWait, params }: SocketCall): string[] {
  const protocols = ["rivet", `rivet_encoding.${encoding ?? "bare"}`];
  if (skipReadyWait === true) protocols.push("rivet_skip_ready_wait");
  if (params !== undefined) {
    const json = encodeURIComponent(JSON.stringify(params) ?? "null");
    // Legal in a URL, not in a subprotocol.
    protocols.push(`rivet_conn_params.${json.replace(/[()]/g, (char) => (char === "(" ? "%28" : "%29"))}`);
  }
  return protocols;
}

/** Base64 in the alphabet of URLs, without padding. */
function urlSafe(base64: string): string {
  return base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** JSON in ASCII: header values hold nothing else reliably. */
function asciiJson(value: unknown): string {
  const json = JSON.stringify(value) ?? "null";
  return json.replace(/[\u007f-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
