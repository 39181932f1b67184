/** The client object: `client.room.getOrCreate("a")`, whatever carries its calls. */
import { membersOr } from "./actions";
import type { Connection } from "./connection/connection";
import { actorHandle, type HandleDefaults } from "./handle";
import { normalizeKey, requireText, type Target } from "./target";
import type { Transport } from "./transport";
import type { Client, CreateOptions, GetOrCreateOptions, QueryOptions } from "./types";

type Key = string | readonly string[] | undefined;

export interface ClientDefaults {
  readonly skipReadyWait?: boolean;
  readonly onDispose?: () => Promise<void>;
}

/** Actor names are few, so what they lead to is kept; but not for any number of them. */
const MAX_KEPT = 1_000;

/** Builds the typed client over a transport. */
export function clientOver<R>(transport: Transport, { skipReadyWait, onDispose }: ClientDefaults = {}): Client<R> {
  const connections = new Set<Connection>();
  const ways = waysToHandles(transport, { skipReadyWait, connections });
  const members = {
    ...ways,
    async dispose() {
      await Promise.all([...connections].map((connection) => connection.dispose()));
      await onDispose?.();
    },
  };
  const accessors = new Map<string, object>();
  const accessor = (name: string) => {
    const known = accessors.get(name);
    if (known) return known;
    const made: Record<string, unknown> = {};
    for (const [way, lead] of Object.entries(ways)) made[way] = (lead as Function).bind(undefined, name);
    if (accessors.size < MAX_KEPT) accessors.set(name, made);
    return made;
  };
  return membersOr(members, accessor) as Client<R>;
}

/** The four ways from an actor's name to a handle. */
function waysToHandles(transport: Transport, defaults: HandleDefaults) {
  const handle = (target: Target, options: QueryOptions) => actorHandle(transport, target, { ...options, ...defaults });
  return {
    get: (name: string, key?: Key, options: QueryOptions = {}) =>
      handle({ kind: "get", name, key: normalizeKey(key) }, options),
    getOrCreate(name: string, key?: Key, options: GetOrCreateOptions = {}) {
      const { createWithInput: input, createInRegion: region, poolName } = options;
      return handle({ kind: "getOrCreate", name, key: normalizeKey(key), input, region, poolName }, options);
    },
    getForId(name: string, actorId: string, options: QueryOptions = {}) {
      requireText("actorId", actorId);
      return handle({ kind: "id", name, actorId }, options);
    },
    async create(name: string, key?: Key, options: CreateOptions = {}) {
      const actorId = await transport.create({ ...options, name, key: normalizeKey(key) });
      return handle({ kind: "id", name, actorId }, options);
    },
  };
}
