/** Options of `setup()` and `listen()`: explicit, then environment, then default. */
import type { ActorLogger, LogLevel } from "../context/service-types";
import { rejectUnknown } from "../define/check";
import type { AnyActorDefinition } from "../define/types";
import { invalidOption } from "../errors/raised";
import { type EngineOptions, type EngineSettings, engineSettings } from "./engine";

export interface RegistryConfigInput<A extends Record<string, AnyActorDefinition>> extends EngineOptions {
  /** The actors, by the names clients use. */
  use: A;
  /** Where everything is stored. Default: `GREENROOM_DATA_DIR`, then `.greenroom`. */
  dataDir?: string;
  /** Default `127.0.0.1`. */
  host?: string;
  /** Default: `GREENROOM_PORT`, `RIVET_PORT`, then 6420. */
  port?: number;
  /** Databases kept open at a time. Default: native. */
  maxOpenDatabases?: number;
  /** Open WebSockets at most. Default: native, by the process's descriptors. */
  maxSockets?: number;
  /** Open WebSockets of one actor at most, asleep or awake. Default 20,000. */
  maxSocketsPerActor?: number;
  /** Open WebSockets from one address at most. Default: no bound. */
  maxSocketsPerAddress?: number;
  /** Bytes that may wait for one client; a slower one is disconnected. Default 4 MiB. */
  maxSocketBuffer?: number;
  /** Bytes of one incoming message. Default 65,536. */
  maxIncomingMessageSize?: number;
  /** Bytes of one outgoing message. Default 1,048,576. */
  maxOutgoingMessageSize?: number;
  /** `basePath` of `handler()`. Default `/api/rivet`. */
  serverless?: { basePath?: string };
  logging?: { level?: LogLevel; baseLogger?: ActorLogger };
}

export interface ListenOptions {
  /** 0 takes a free port. */
  port?: number;
  host?: string;
  dataDir?: string;
}

export interface RegistryConfig {
  readonly dataDir: string | undefined;
  readonly host: string;
  readonly port: number;
  readonly region: string | undefined;
  /** Taken off the paths that `handler()` gets; begins with a slash and ends with none. */
  readonly basePath: string;
  /** Bounds that native code knows the defaults of. */
  readonly limits: Partial<Record<(typeof LIMITS)[number], number>>;
  readonly maxIncomingMessageSize: number | undefined;
  readonly maxOutgoingMessageSize: number | undefined;
  readonly logLevel: LogLevel | undefined;
  readonly baseLogger: ActorLogger | undefined;
  /** The engine to join, or undefined for the embedded host. */
  readonly engine: EngineSettings | undefined;
}

const LIMITS = [
  "maxOpenDatabases",
  "maxSockets",
  "maxSocketsPerActor",
  "maxSocketsPerAddress",
  "maxSocketBuffer",
] as const;
const KNOWN: readonly string[] = [
  ...LIMITS,
  "use",
  "dataDir",
  "host",
  "port",
  "maxIncomingMessageSize",
  "maxOutgoingMessageSize",
  "serverless",
  "logging",
  "endpoint",
  "token",
  "namespace",
  "envoy",
];
/** Options of RivetKit that concern its engine or its web server: no such thing here. */
const PORTED: readonly string[] = [
  "configurePool",
  "engineHost",
  "enginePort",
  "engineVersion",
  "headers",
  "httpBasePath",
  "httpHost",
  "httpPort",
  "noWelcome",
  "runtime",
  "shutdown",
  "sqlite",
  "startEngine",
  "startServices",
  "staticDir",
  "test",
  "wasm",
];

type Environment = Readonly<Record<string, string | undefined>>;

export const DEFAULT_DATA_DIR = ".greenroom";
const DEFAULT_HOST = "127.0.0.1";
const DEFAULT_PORT = 6420;
const DEFAULT_BASE_PATH = "/api/rivet";

export function registryConfig(input: object, env: Environment = process.env): RegistryConfig {
  rejectUnknown(input, [...KNOWN, ...PORTED], "", invalidOption);
  const given = input as RegistryConfigInput<Record<string, AnyActorDefinition>>;
  for (const name of [...LIMITS, "maxIncomingMessageSize", "maxOutgoingMessageSize"] as const) {
    checkCount(name, given[name]);
  }
  if (given.logging?.baseLogger !== undefined && typeof given.logging.baseLogger.child !== "function") {
    throw invalidOption("logging.baseLogger", "must have the methods of a pino logger, child among them");
  }
  const engine = engineSettings(given, env);
  return {
    dataDir: given.dataDir ?? nonEmpty(env.GREENROOM_DATA_DIR),
    host: given.host ?? DEFAULT_HOST,
    port:
      checkPort("port", given.port) ?? portFrom(env, "GREENROOM_PORT") ?? portFrom(env, "RIVET_PORT") ?? DEFAULT_PORT,
    region: nonEmpty(env.RIVET_REGION),
    basePath: basePath(given.serverless?.basePath ?? DEFAULT_BASE_PATH),
    limits: Object.fromEntries(LIMITS.filter((name) => given[name] !== undefined).map((name) => [name, given[name]])),
    maxIncomingMessageSize: given.maxIncomingMessageSize,
    maxOutgoingMessageSize: given.maxOutgoingMessageSize,
    logLevel: given.logging?.level,
    baseLogger: given.logging?.baseLogger,
    engine,
  };
}

export function checkListenOptions(options: ListenOptions): void {
  rejectUnknown(options, ["port", "host", "dataDir"], "listen.", invalidOption);
  checkPort("listen.port", options.port);
}

function basePath(path: string): string {
  if (typeof path !== "string" || !path.startsWith("/")) {
    throw invalidOption("serverless.basePath", "must begin with a slash");
  }
  return path.replace(/\/+$/, "");
}

function portFrom(env: Environment, name: string): number | undefined {
  const text = nonEmpty(env[name]);
  return text === undefined ? undefined : checkPort(name, Number(text));
}

function checkPort(name: string, port: number | undefined): number | undefined {
  if (port === undefined || (Number.isInteger(port) && port >= 0 && port <= 65535)) return port;
  throw invalidOption(name, "must be a port number from 0 to 65535");
}

function checkCount(name: string, value: number | undefined): void {
  if (value !== undefined && !(Number.isInteger(value) && value > 0)) {
    throw invalidOption(name, "must be a positive whole number");
  }
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
