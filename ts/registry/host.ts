/** The host of one registry, embedded or an engine: opened when first needed, closed once. */
import { join, resolve } from "node:path";
import { createCallbacks, createConfig } from "../callbacks/factory";
import type { ActorServices } from "../context/services";
import { ActorError } from "../errors/actor-error";
import { fromNativePromise } from "../errors/bridge";
import { dataDirConflict, registryShutDown } from "../errors/raised";
import type {
  EmbeddedConfig,
  EngineConfig,
  NativeCallbacks,
  NativeModule,
  NativeRegistry,
} from "../native/registry-types";
import { DEFAULT_DATA_DIR, type RegistryConfig } from "./config";
import { type EngineSettings, engineBinary } from "./engine";
import { closeBeforeExit, forget } from "./exit-hook";
import type { RegistryDeps } from "./registry";

export interface ActorType {
  readonly services: ActorServices;
  readonly callbacks: NativeCallbacks;
}

export class RegistryHost {
  readonly #native: () => NativeModule;
  readonly #config: RegistryConfig;
  readonly #actors: ReadonlyMap<string, ActorType>;
  readonly #manualClock: RegistryDeps["manualClock"];
  readonly #close = () => this.shutdown();
  #opening: { dataDir: string; registry: Promise<NativeRegistry> } | undefined;
  /** The registry that requests of an engine open. */
  #serverless: NativeRegistry | undefined;
  #closing: Promise<void> | undefined;

  constructor(
    native: () => NativeModule,
    config: RegistryConfig,
    actors: ReadonlyMap<string, ActorType>,
    manualClock?: RegistryDeps["manualClock"],
  ) {
    this.#manualClock = manualClock;
    this.#native = native;
    this.#config = config;
    this.#actors = actors;
  }

  /** The native registry, opened on the first call; a failed one may be tried again. */
  async open(dataDir?: string): Promise<NativeRegistry> {
    if (this.#closing !== undefined) throw registryShutDown();
    if (this.#serverless !== undefined) {
      throw new ActorError("registry", "mode_conflict", "This registry runs behind requests of its engine.");
    }
    if (this.#opening !== undefined) {
      const asked = dataDir === undefined ? this.#opening.dataDir : resolve(dataDir);
      if (asked !== this.#opening.dataDir) throw dataDirConflict(this.#opening.dataDir, asked);
      return this.#opening.registry;
    }
    const path = resolve(dataDir ?? this.#config.dataDir ?? DEFAULT_DATA_DIR);
    const registry = this.#start(path);
    this.#opening = { dataDir: path, registry };
    try {
      return await registry;
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
  }

  /**
   * The native registry that an engine's requests open, which is then the only way
   * that it runs: native code refuses whatever would be another.
   */
  serverless(): NativeRegistry {
    if (this.#closing !== undefined) throw registryShutDown();
    if (this.#opening !== undefined) {
      const detail = "It has joined its engine already.";
      throw new ActorError("registry", "mode_conflict", `This registry does not run behind requests. ${detail}`);
    }
    if (this.#serverless === undefined) {
      this.#serverless = this.#make();
      closeBeforeExit(this.#close);
    }
    return this.#serverless;
  }

  /** The shutdown, once it has begun. */
  get closing(): Promise<void> | undefined {
    return this.#closing;
  }

  /** Drains all actors and resolves when everything is on disk. Idempotent. */
  shutdown(): Promise<void> {
    this.#closing ??= this.#stop((registry) => registry.shutdown());
    return this.#closing;
  }

  /** Ends as a crash of the process would: no hooks, no last saves. For tests. */
  crash(): Promise<void> {
    this.#closing ??= this.#stop((registry) => registry.crash());
    return this.#closing;
  }

  #make(): NativeRegistry {
    const native = this.#native();
    const registry = new native.CoreRegistry();
    const { maxIncomingMessageSize, maxOutgoingMessageSize } = this.#config;
    // The registry's limits are each actor's, unless it has its own.
    const limits = {
      ...(maxIncomingMessageSize !== undefined && { maxIncomingMessageSize }),
      ...(maxOutgoingMessageSize !== undefined && { maxOutgoingMessageSize }),
    };
    for (const [name, { services, callbacks }] of this.#actors) {
      registry.register(name, new native.NapiActorFactory(callbacks, createConfig(services, limits)));
    }
    return registry;
  }

  async #start(dataDir: string): Promise<NativeRegistry> {
    const registry = this.#make();
    const { engine } = this.#config;
    await fromNativePromise(() =>
      engine === undefined
        ? registry.openEmbedded(this.#embeddedConfig(dataDir))
        : registry.openEngine(this.#engineConfig(engine, dataDir)),
    );
    closeBeforeExit(this.#close);
    return registry;
  }

  #embeddedConfig(dataDir: string): EmbeddedConfig {
    const { region, limits } = this.#config;
    return {
      dataDir,
      ...(region !== undefined && { region }),
      ...limits,
      ...manualClockConfig(this.#manualClock),
    };
  }

  #engineConfig(engine: EngineSettings, dataDir: string): EngineConfig {
    const { region, limits } = this.#config;
    const { maxSockets, maxSocketBuffer } = limits;
    const { endpoint, token, namespace, poolName, version, startable } = engine;
    const binary = startable ? engineBinary() : undefined;
    return {
      endpoint,
      namespace,
      poolName,
      version,
      ...(token !== undefined && { token }),
      ...(region !== undefined && { region }),
      ...(maxSockets !== undefined && { maxSockets }),
      ...(maxSocketBuffer !== undefined && { maxSocketBuffer }),
      ...(binary !== undefined && { engineBinary: binary, engineStorage: join(dataDir, "engine") }),
    };
  }

  async #stop(end: (registry: NativeRegistry) => Promise<void>): Promise<void> {
    forget(this.#close);
    let registry = this.#serverless;
    try {
      registry ??= await this.#opening?.registry;
    } catch {
      // It never opened; whoever opened it has the error.
      return;
    }
    if (registry !== undefined) await fromNativePromise(() => end(registry));
  }
}

function manualClockConfig(clock: RegistryDeps["manualClock"]): Partial<EmbeddedConfig> {
  if (clock === undefined) return {};
  const { startMs } = clock;
  return { clock: "manual", ...(startMs !== undefined && { clockStartMs: startMs }) };
}

/** The callbacks of all actors; what cannot be stored in a definition throws here. */
export function actorTypes(services: Iterable<ActorServices>): Map<string, ActorType> {
  const types = new Map<string, ActorType>();
  for (const one of services) types.set(one.name, { services: one, callbacks: createCallbacks(one) });
  return types;
}
