/** Which engine a registry joins, and where the program of one is found. */
import { createRequire } from "node:module";
import { join } from "node:path";
import { clientConfig, DEFAULT_ENDPOINT, isLoopback, parseEndpoint } from "../client/config";
import { type Environment, fromEnvironment } from "../client/environment";
import { rejectUnknown } from "../define/check";
import { invalidOption } from "../errors/raised";

export interface EngineOptions {
  /** A Rivet Engine to join. Default: `RIVET_ENGINE`, `RIVET_ENDPOINT`, then none. */
  endpoint?: string;
  /** Default: `RIVET_TOKEN`. */
  token?: string;
  /** Default: `RIVET_NAMESPACE`, then `default`. */
  namespace?: string;
  envoy?: {
    /** Processes of one pool share its actors. Default: `RIVET_POOL`, then `default`. */
    poolName?: string;
    /**
     * A process of a higher version takes the actors of lower ones over.
     * Default: `RIVET_ENVOY_VERSION`, then 1.
     */
    version?: number;
  };
}

export interface EngineSettings {
  readonly endpoint: string;
  readonly token: string | undefined;
  readonly namespace: string;
  readonly poolName: string;
  readonly version: number;
  /** Whether to start the engine at the endpoint if none answers there. */
  readonly startable: boolean;
}

/**
 * The engine that options and environment name; undefined for the embedded host.
 * A loopback endpoint is the embedded host's own address, not a cluster, unless
 * `GREENROOM_HOST` says so.
 */
export function engineSettings(given: EngineOptions, env: Environment): EngineSettings | undefined {
  const asked = env.GREENROOM_HOST === "engine";
  if (!asked && env.GREENROOM_HOST && env.GREENROOM_HOST !== "embedded") {
    throw invalidOption("GREENROOM_HOST", "must be embedded or engine");
  }
  const { endpoint = env.RIVET_ENGINE ?? env.RIVET_ENDPOINT, token, namespace, envoy = {} } = given;
  rejectUnknown(envoy, ["poolName", "version"], "envoy.", invalidOption);
  const version = envoy.version ?? (env.RIVET_ENVOY_VERSION ? Number(env.RIVET_ENVOY_VERSION) : 1);
  if (!Number.isInteger(version) || version < 0 || version > 0xffff_ffff) {
    throw invalidOption("envoy.version", "must be a whole number from 0 to 4294967295");
  }
  if (endpoint === undefined && !asked) return undefined;
  const loopback = isLoopback(parseEndpoint(endpoint ?? DEFAULT_ENDPOINT).host);
  if (loopback && !asked) return undefined;
  // The same words mean the same to whoever calls the actors.
  const client = clientConfig(
    {
      endpoint: endpoint ?? DEFAULT_ENDPOINT,
      ...(token !== undefined && { token }),
      ...(namespace !== undefined && { namespace }),
      ...(envoy.poolName !== undefined && { poolName: envoy.poolName }),
    },
    { fallback: fromEnvironment(env) },
  );
  return {
    endpoint: client.endpoint,
    token: client.token,
    namespace: client.namespace,
    poolName: client.poolName,
    version,
    startable: loopback,
  };
}

/**
 * The engine's program: `RIVET_ENGINE_BINARY`, or what `@rivetkit/engine-cli` has,
 * where that is installed beside the program. Nothing is downloaded.
 */
export function engineBinary(env: Environment = process.env, from = process.cwd()): string | undefined {
  if (env.RIVET_ENGINE_BINARY) return env.RIVET_ENGINE_BINARY;
  let resolver: { getEnginePath(): string };
  try {
    resolver = createRequire(join(from, "program.js"))("@rivetkit/engine-cli");
  } catch (error) {
    if ((error as { code?: string }).code === "MODULE_NOT_FOUND") return undefined;
    throw error;
  }
  return resolver.getEnginePath();
}
