/** Options of the network client: explicit, then environment, then default. */
import { invalidOption } from "../errors/raised";
import type { Encoding } from "../wire/format";
import type { WebSocketClass } from "./socket";
import type { ActorGatewayOptions } from "./types";

export interface ClientOptions {
  /**
   * URL of the host; may carry `namespace:token@`.
   * Default: `RIVET_ENGINE`, `RIVET_ENDPOINT`, then `http://127.0.0.1:6420`.
   */
  endpoint?: string;
  /** Default: `RIVET_NAMESPACE`, then `default`. */
  namespace?: string;
  /** Default: `RIVET_TOKEN`. */
  token?: string;
  /** Default: `RIVET_POOL`, then `default`. */
  poolName?: string;
  /** Default `bare`, the densest. */
  encoding?: Encoding;
  /** Sent with every request. */
  headers?: Record<string, string>;
  gateway?: ActorGatewayOptions;
  /**
   * Do not ask the host where clients should go. Default: true for a loopback
   * endpoint, which never sends clients elsewhere, false for any other.
   */
  disableMetadataLookup?: boolean;
  /** Replaces the platform's `fetch`. */
  fetch?: typeof globalThis.fetch;
  /** Replaces the platform's `WebSocket`. */
  WebSocket?: WebSocketClass;
}

export interface ClientConfig {
  /** Without a trailing slash. */
  readonly endpoint: string;
  readonly namespace: string;
  readonly token: string | undefined;
  readonly poolName: string;
  readonly encoding: Encoding;
  readonly headers: Readonly<Record<string, string>>;
  readonly skipReadyWait: boolean;
  readonly metadataLookup: boolean;
  readonly fetch: typeof globalThis.fetch;
  readonly WebSocket: WebSocketClass | undefined;
}

export const DEFAULT_ENDPOINT = "http://127.0.0.1:6420";

const KNOWN: readonly string[] = [
  "endpoint",
  "namespace",
  "token",
  "poolName",
  "encoding",
  "headers",
  "gateway",
  "disableMetadataLookup",
  "fetch",
  "WebSocket",
];

/** What a platform adds to the options. */
export interface Surroundings {
  /** Options from the environment: weaker than given ones, stronger than the defaults. */
  readonly fallback?: { readonly [name in "endpoint" | "namespace" | "token" | "poolName"]?: string | undefined };
  /** The end of a complaint about an unknown name. */
  hint?(name: string, known: readonly string[]): string;
}

export function clientConfig(options: ClientOptions, { fallback = {}, hint }: Surroundings = {}): ClientConfig {
  for (const name in options) {
    if (!KNOWN.includes(name)) throw invalidOption(name, `is not a known option${hint?.(name, KNOWN) ?? ""}`);
  }
  const { encoding = "bare", headers = {} } = options;
  if (!["bare", "cbor", "json"].includes(encoding)) throw invalidOption("encoding", "must be bare, cbor or json");
  const location = parseEndpoint(options.endpoint ?? fallback.endpoint ?? DEFAULT_ENDPOINT);
  const either = (name: "namespace" | "token"): string | undefined => {
    const given = options[name];
    if (given !== undefined && location[name]) throw invalidOption(name, "is given in the endpoint URL, too");
    return given ?? location[name] ?? fallback[name];
  };
  return {
    endpoint: location.base,
    namespace: either("namespace") ?? "default",
    token: either("token"),
    poolName: options.poolName ?? fallback.poolName ?? "default",
    encoding,
    headers: traceless(headers),
    skipReadyWait: options.gateway?.skipReadyWait ?? false,
    metadataLookup: !(options.disableMetadataLookup ?? isLoopback(location.host)),
    fetch: options.fetch ?? ((...args) => globalThis.fetch(...args)),
    WebSocket: options.WebSocket,
  };
}

interface Location {
  base: string;
  host: string;
  namespace: string | undefined;
  token: string | undefined;
}

/** Takes an endpoint URL apart; what cannot be meant is refused, not dropped. */
export function parseEndpoint(text: string): Location {
  const refuse = (reason: string) => invalidOption("endpoint", reason);
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw refuse(`is not a URL: ${JSON.stringify(text)}`);
  }
  const { protocol, username, password, hostname, origin, pathname, search, hash } = url;
  if (!/^https?:$/.test(protocol)) throw refuse("must be http or https");
  if (search || hash) throw refuse("must not have a query or fragment");
  if (password && !username) throw refuse("has a token but no namespace");
  return {
    base: origin + pathname.replace(/\/+$/, ""),
    host: hostname,
    namespace: decodeURIComponent(username) || undefined,
    token: decodeURIComponent(password) || undefined,
  };
}

export function isLoopback(host: string): boolean {
  return /^(localhost|\[?::1\]?|127(\.\d+){3})$/.test(host);
}

/** Trace headers belong to one call and must not be fixed for a whole client. */
function traceless(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !/^trace(parent|state)$/i.test(name)));
}
