/** Options of the network client: explicit, then environment, then default. */
import { rejectUnknown } from "../define/check";
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
const ENCODINGS: readonly string[] = ["bare", "cbor", "json"];

type Environment = Readonly<Record<string, string | undefined>>;

export function clientConfig(options: ClientOptions, env: Environment = environment()): ClientConfig {
  rejectUnknown(options, KNOWN, "", invalidOption);
  const encoding = options.encoding ?? "bare";
  if (!ENCODINGS.includes(encoding)) throw invalidOption("encoding", "must be bare, cbor or json");
  const location = parseEndpoint(options.endpoint ?? env.RIVET_ENGINE ?? env.RIVET_ENDPOINT ?? DEFAULT_ENDPOINT);
  for (const name of ["namespace", "token"] as const) {
    if (options[name] !== undefined && location[name] !== undefined) {
      throw invalidOption(name, "is given in the endpoint URL, too");
    }
  }
  return {
    endpoint: location.base,
    namespace: options.namespace ?? location.namespace ?? env.RIVET_NAMESPACE ?? "default",
    token: options.token ?? location.token ?? env.RIVET_TOKEN,
    poolName: options.poolName ?? env.RIVET_POOL ?? "default",
    encoding,
    headers: traceless(options.headers ?? {}),
    skipReadyWait: options.gateway?.skipReadyWait ?? false,
    metadataLookup: !(options.disableMetadataLookup ?? isLoopback(location.host)),
    fetch: options.fetch ?? ((...args) => globalThis.fetch(...args)),
    WebSocket: options.WebSocket,
  };
}

interface Location {
  base: string;
  host: string;
  namespace?: string;
  token?: string;
}

/** Takes an endpoint URL apart; what cannot be meant is refused, not dropped. */
export function parseEndpoint(text: string): Location {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw invalidOption("endpoint", `is not a URL: ${JSON.stringify(text)}`);
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") throw invalidOption("endpoint", "must be http or https");
  if (url.search !== "" || url.hash !== "") throw invalidOption("endpoint", "must not have a query or fragment");
  const namespace = decodeURIComponent(url.username);
  const token = decodeURIComponent(url.password);
  if (token !== "" && namespace === "") throw invalidOption("endpoint", "has a token but no namespace");
  return {
    base: url.origin + url.pathname.replace(/\/+$/, ""),
    host: url.hostname,
    ...(namespace !== "" && { namespace }),
    ...(token !== "" && { token }),
  };
}

export function isLoopback(host: string): boolean {
  const plain = host.replace(/^\[|\]$/g, "");
  return plain === "localhost" || plain === "::1" || /^127(\.\d+){3}$/.test(plain);
}

/** Trace headers belong to one call and must not be fixed for a whole client. */
function traceless(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !["traceparent", "tracestate"].includes(name.toLowerCase())),
  );
}

function environment(): Environment {
  return (globalThis as { process?: { env: Environment } }).process?.env ?? {};
}
