/** Options of the network client that the environment gives. */
import type { Surroundings } from "./config";

export type Environment = Readonly<Record<string, string | undefined>>;

export function fromEnvironment(env: Environment = ownEnvironment()): NonNullable<Surroundings["fallback"]> {
  return {
    endpoint: env.RIVET_ENGINE ?? env.RIVET_ENDPOINT,
    namespace: env.RIVET_NAMESPACE,
    token: env.RIVET_TOKEN,
    poolName: env.RIVET_POOL,
  };
}

/** Not every runtime that takes this file has a process. */
function ownEnvironment(): Environment {
  return (globalThis as { process?: { env: Environment } }).process?.env ?? {};
}
