// On which host the programs of the suite put their actors: the embedded one, or an
// engine, with `GREENROOM_COMPAT_HOST=engine`.

import { startEngine } from "./engine.mjs";

const HOST = process.env.GREENROOM_COMPAT_HOST ?? "embedded";
if (!["embedded", "engine"].includes(HOST)) throw new Error(`GREENROOM_COMPAT_HOST is ${HOST}`);

export const onEngine = HOST === "engine";

/**
 * A killed program's actors go to the next one after this time, not after the usual 15 s,
 * and those that found no program do not wait for long.
 */
export const HASTY = {
  RIVET__PEGBOARD__ENVOY_LOST_THRESHOLD: "5000",
  RIVET__PEGBOARD__BASE_RETRY_TIMEOUT: "100",
  RIVET__PEGBOARD__RESCHEDULE_BACKOFF_MAX_EXPONENT: "1",
  // Fifty calls at once that ask for an actor by its key take their time on a busy machine.
  RIVET__GUARD__ROUTE_PEGBOARD_RESOLVE_QUERY_TIMEOUT_MS: "60000",
};

/**
 * Codes, of the group `envoy`, for a request that reaches a process just after its actor
 * went to sleep, or woke again. It was not begun; an engine tells the published client
 * so, which leaves it to its caller to repeat it.
 */
export const CAME_TOO_LATE = ["actor_not_found", "actor_generation_mismatch"];

/** Options of a test of what an engine does in its own way; `reason` says how. */
export const unlessOnEngine = (reason) => ({ skip: onEngine && reason });

const kept = new Map();

/**
 * The engine of what is kept under `name`, the same for all programs that follow each
 * other on it; undefined on the embedded host. Ends with the process, or before by `end`.
 */
export async function engineOf(name, port) {
  if (!onEngine) return undefined;
  if (!kept.has(name)) kept.set(name, startEngine({ port, variables: HASTY }));
  const { endpoint, end } = await kept.get(name);
  return {
    endpoint,
    end: () => {
      kept.delete(name);
      return end();
    },
  };
}
