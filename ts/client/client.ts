/** The client object: `client.room.getOrCreate("a")`, whatever carries its calls. */
import { invalidOption } from "../errors/raised";
import type { Connection } from "./connection/connection";
import { HandleCore, type HandleDefaults, handleProxy } from "./handle";
import { normalizeKey, type Target } from "./target";
import type { Transport } from "./transport";
import type { Client, CreateOptions, GetOrCreateOptions, QueryOptions } from "./types";

type Key = string | readonly string[] | undefined;

export interface ClientDefaults {
  /** Pool for actors this client creates. */
  readonly poolName?: string;
  readonly skipReadyWait?: boolean;
  readonly onDispose?: () => Promise<void>;
}

class ClientCore {
  readonly #transport: Transport;
  readonly #defaults: ClientDefaults;
  readonly #connections = new Set<Connection>();

  constructor(transport: Transport, defaults: ClientDefaults) {
    this.#transport = transport;
    this.#defaults = defaults;
  }

  get(name: string, key?: Key, options: QueryOptions = {}): object {
    return this.#handle({ kind: "get", name, key: normalizeKey(key) }, options);
  }

  getOrCreate(name: string, key?: Key, options: GetOrCreateOptions = {}): object {
    const { createWithInput: input, createInRegion: region, poolName = this.#defaults.poolName } = options;
    return this.#handle({ kind: "getOrCreate", name, key: normalizeKey(key), input, region, poolName }, options);
  }

  getForId(name: string, actorId: string, options: QueryOptions = {}): object {
    if (typeof actorId !== "string" || actorId === "") throw invalidOption("actorId", "must be a non-empty string");
    return this.#handle({ kind: "id", name, actorId }, options);
  }

  async create(name: string, key?: Key, options: CreateOptions = {}): Promise<object> {
    const { input, region, poolName = this.#defaults.poolName, signal } = options;
    const actorId = await this.#transport.create({ name, key: normalizeKey(key), input, region, poolName, signal });
    return this.#handle({ kind: "id", name, actorId }, options);
  }

  async dispose(): Promise<void> {
    await Promise.all([...this.#connections].map((connection) => connection.dispose()));
    await this.#defaults.onDispose?.();
  }

  #handle(target: Target, options: QueryOptions): object {
    const defaults: HandleDefaults = {
      params: options.params,
      signal: options.signal,
      skipReadyWait: this.#defaults.skipReadyWait,
      getParams: options.getParams,
      onConnection: (connection) => {
        this.#connections.add(connection);
        return () => this.#connections.delete(connection);
      },
    };
    return handleProxy(new HandleCore(this.#transport, target, defaults));
  }
}

const METHODS: ReadonlySet<PropertyKey> = new Set(["get", "getOrCreate", "getForId", "create", "dispose"]);

/** Builds the typed client over a transport. */
export function clientOver<R>(transport: Transport, defaults: ClientDefaults = {}): Client<R> {
  const core = new ClientCore(transport, defaults);
  const accessors = new Map<string, object>();
  const proxy = new Proxy(core, {
    get(_, property) {
      if (METHODS.has(property)) return core[property as "get"].bind(core);
      // A client must not look like a promise, nor like anything symbols ask for.
      if (typeof property === "symbol" || property === "then") return undefined;
      return accessor(core, accessors, property);
    },
    has: (_, property) => METHODS.has(property),
  });
  return proxy as unknown as Client<R>;
}

/** Actor names are few, so what they lead to is kept. */
function accessor(core: ClientCore, known: Map<string, object>, name: string): object {
  const existing = known.get(name);
  if (existing !== undefined) return existing;
  const made = {
    get: (key?: Key, options?: QueryOptions) => core.get(name, key, options),
    getOrCreate: (key?: Key, options?: GetOrCreateOptions) => core.getOrCreate(name, key, options),
    getForId: (actorId: string, options?: QueryOptions) => core.getForId(name, actorId, options),
    create: (key?: Key, options?: CreateOptions) => core.create(name, key, options),
  };
  if (known.size < MAX_KEPT) known.set(name, made);
  return made;
}

const MAX_KEPT = 1_000;
