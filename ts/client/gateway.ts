/** URLs and headers that lead a request through the gateway to an actor. */
import type { ClientConfig } from "./config";
import type { KeyTarget, Target } from "./target";
import type { CallOptions } from "./transport";

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
  input?: string,
): string {
  const { endpoint, namespace, token } = place;
  const base = `${endpoint}/gateway/`;
  if (target.kind === "id") {
    const suffix = token === undefined ? "" : `@${encodeURIComponent(token)}`;
    return base + encodeURIComponent(target.actorId) + suffix + path;
  }
  const { name, kind, key, poolName = config.poolName, region } = target;
  const creation = kind === "getOrCreate" && { input: input && urlSafe(input), region, "crash-policy": "sleep" };
  const parameters: Record<string, string | undefined> = {
    namespace,
    method: kind,
    runner: creation ? poolName : undefined,
    key: key.length > 0 ? key.join(",") : undefined,
    ...creation,
    token,
  };
  const query = new URLSearchParams();
  for (const name in parameters) {
    const value = parameters[name];
    if (value !== undefined) query.set(`rvt-${name}`, value);
  }
  // The user's query comes first and byte for byte: it is theirs.
  return withQuery(base + encodeURIComponent(name) + path, query);
}

/** A URL or path with more of a query. */
export function withQuery(url: string, query: unknown): string {
  return `${url}${url.includes("?") ? "&" : "?"}${query}`;
}

/**
 * Whether the query form can express a target. It joins the parts of a key with
 * commas and cannot tell `["a,b"]` from `["a", "b"]`, nor `[""]` from `[]`; and
 * URLs have limits.
 */
export function fitsQuery({ key }: KeyTarget, input = ""): boolean {
  const isAmbiguous = key.some((part) => part.includes(",")) || (key.length === 1 && key[0] === "");
  return !isAmbiguous && input.length <= MAX_INPUT_LENGTH;
}

/** Headers of a gateway request besides its body's. */
export function gatewayHeaders(
  { token }: Place,
  config: Pick<ClientConfig, "headers">,
  { skipReadyWait, params }: CallOptions,
): Headers {
  return headersWith(config, {
    "x-rivet-token": token,
    "x-rivet-skip-ready-wait": skipReadyWait ? "1" : undefined,
    "x-rivet-conn-params": params === undefined ? undefined : asciiJson(params),
  });
}

/** The client's own headers, and those of `more` that are defined. */
export function headersWith(
  config: Pick<ClientConfig, "headers">,
  more: Readonly<Record<string, string | undefined>>,
): Headers {
  const headers = new Headers(config.headers);
  for (const name in more) {
    const value = more[name];
    if (value !== undefined) headers.set(name, value);
  }
  return headers;
}

/** Base64 in the alphabet of URLs, without padding. */
function urlSafe(base64: string): string {
  return base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** JSON in ASCII: header values hold nothing else reliably. */
function asciiJson(value: unknown): string {
  return jsonOf(value).replace(/[\u007f-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** A value that has no JSON is null. */
export function jsonOf(value: unknown): string {
  return JSON.stringify(value) ?? "null";
}
