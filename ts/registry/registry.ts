/** `setup()` and the registry: actors, and the ways to run them. */
import { resolve } from "node:path";
import { clientOver } from "../client/client";
import { createClient } from "../client/index";
import type { Client, RegistryLike } from "../client/types";
import type { Codec } from "../codec/codec";
import { defaultLogger } from "../context/log";
import type { ActorLogger } from "../context/service-types";
import type { ActorServices } from "../context/services";
import { compiledActor } from "../define/actor";
import type { AnyActorDefinition } from "../define/types";
import { ActorError } from "../errors/actor-error";
import { callNative, fromNativePromise } from "../errors/bridge";
import { invalidOption, notConfigured } from "../errors/raised";
import type { ListenAddress, NativeModule, NativeRegistry } from "../native/registry-types";
import {
  checkListenOptions,
  type ListenOptions,
  type RegistryConfig,
  type RegistryConfigInput,
  registryConfig,
} from "./config";
import { actorTypes, RegistryHost } from "./host";
import { localFetch } from "./local-fetch";
import { LocalTransport } from "./local-transport";
import { answerServerless, serveConfig } from "./serverless";

export type Actors = Record<string, AnyActorDefinition>;

/** An open listener. While it is open and not unref'd, the process lives. */
export interface Listener {
  /** E.g. `http://127.0.0.1:6420`. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** Takes no more requests and closes the socket; actors live on. */
  close(): Promise<void>;
  ref(): this;
  /** Lets the process end although the listener is open. */
  unref(): this;
}

export interface ServerlessHandler {
  fetch(request: Request): Promise<Response>;
}

/** @internal What a registry is made of, besides its options. */
export interface RegistryDeps {
  readonly native: () => NativeModule;
  readonly codec: Codec;
  /** A clock that stands still unless it is moved, from here (ms since 1970; default now). */
  readonly manualClock?: { readonly startMs: number | undefined };
}

/** @internal The host behind a registry, for the test kit. */
export let hostOf: (registry: Registry<any>) => RegistryHost;

function belowBase(base: string, pathname: string): string {
  if (pathname === base) return "/";
  return pathname.startsWith(`${base}/`) ? pathname.slice(base.length) : pathname;
}

export class Registry<A extends Actors> implements RegistryLike {
  readonly config: RegistryConfigInput<A>;
  readonly #settings: RegistryConfig;
  readonly #log: ActorLogger;
  readonly #host: RegistryHost;
  readonly #deps: RegistryDeps;
  #client: Client<Registry<A>> | undefined;
  #listening: Promise<Listener> | undefined;

  static {
    hostOf = (registry) => registry.#host;
  }

  /** @internal Use {@link setup}. */
  constructor(config: RegistryConfigInput<A>, deps: RegistryDeps) {
    this.#settings = registryConfig(config);
    this.config = config;
    this.#deps = deps;
    this.#log = this.#settings.baseLogger ?? defaultLogger(this.#settings.logLevel);
    const types = actorTypes(this.#services(deps));
    this.#host = new RegistryHost(deps.native, this.#settings, types, deps.manualClock);
  }

  /** Starts to listen in the background; a failure is logged and sets the exit code. */
  start(): void {
    this.startAndWait().catch((error: unknown) => {
      this.#log.fatal({ msg: "the registry could not start", error });
      process.exitCode = 1;
    });
  }

  /** Resolves when the host accepts requests. Calls share one start. */
  async startAndWait(): Promise<void> {
    await (this.#listening ?? this.listen());
  }

  /**
   * Opens the HTTP listener of the embedded host. Where an engine hosts the actors,
   * joins it: clients go to its endpoint, which is the listener's `url`.
   */
  listen(options: ListenOptions = {}): Promise<Listener> {
    if (this.#listening !== undefined) {
      return Promise.reject(new ActorError("registry", "already_listening", "This registry is listening already."));
    }
    const listener = this.#listen(options);
    this.#listening = listener;
    // Whoever waits for `listener` sees its failure; here it only clears the way.
    listener.catch(() => {
      if (this.#listening === listener) this.#listening = undefined;
    });
    return listener;
  }

  /**
   * A client without a socket, with the interface of `createClient`. The data
   * directory is opened by the first call. Async context reaches the actions.
   */
  client(): Client<Registry<A>> {
    this.#client ??= this.#makeClient();
    return this.#client;
  }

  /**
   * Copies all data of one actor, state and tables, into one new SQLite file, as
   * it is committed, while the actor goes on; its statements and saves wait for
   * the copy. A file that exists is not overwritten. With an engine, the actor has
   * to live in this process.
   */
  async backup(actorId: string, file: string): Promise<void> {
    await this.#transfer((host) => host.localBackup({ actorId }, resolve(file)));
  }

  /**
   * Replaces all data of an actor by those of a backup: puts it to sleep, checks
   * and copies the file, and starts it again. If that fails it keeps what it had.
   * Not with an engine: destroy the actor there, and import the file.
   */
  async restore(actorId: string, file: string): Promise<void> {
    this.#requireEmbedded();
    await this.#transfer((host) => host.localRestore({ actorId }, resolve(file)));
  }

  /** {@link backup} of the actor of this name and key. */
  async export(name: keyof A & string, key: string | string[], file: string): Promise<void> {
    await this.#transfer((host) => host.localBackup({ name, key: [key].flat(), method: "get" }, resolve(file)));
  }

  /**
   * Makes a new actor with a backup's data and resolves to its id. The key must be
   * free. With an engine, this process has to be the only one of its pool.
   */
  async import(name: keyof A & string, key: string | string[], file: string): Promise<string> {
    return this.#transfer((host) => host.localImport(name, [key].flat(), resolve(file)));
  }

  /** Drains all actors (as for sleep) and resolves when all is on disk. Idempotent. */
  async shutdown(): Promise<void> {
    await this.#host.shutdown();
  }

  /**
   * Answers a Web `Request` as the listener would, without a port: mount it in Hono,
   * Next.js or any server that speaks fetch. The base path (`/api/rivet`) is taken
   * off; other paths are taken as they are. Bodies stream both ways, and the
   * request's signal cancels. WebSockets do not come as requests: clients that
   * connect need {@link listen}.
   *
   * Where an engine hosts the actors, answers that engine's own requests instead: it
   * starts actors with them, and clients go to the engine. Such a registry neither
   * listens nor joins by itself.
   */
  async handler(request: Request): Promise<Response> {
    const { engine, basePath } = this.#settings;
    if (engine !== undefined) {
      const registry = this.#host.serverless();
      return answerServerless(registry, this.#deps.native(), request, serveConfig(engine, basePath));
    }
    const { pathname, search } = new URL(request.url);
    const path = belowBase(this.#settings.basePath, pathname) + search;
    const registry = await this.#host.open();
    return localFetch(registry, request, { path, headers: request.headers, anyPath: true });
  }

  /** An object with {@link handler} as its `fetch`, for `export default`. */
  serve(): ServerlessHandler {
    return { fetch: (request) => this.handler(request) };
  }

  async #listen(options: ListenOptions): Promise<Listener> {
    checkListenOptions(options);
    const { engine } = this.#settings;
    if (engine !== undefined) {
      const registry = await this.#host.open(options.dataDir);
      const { hostname, port } = new URL(engine.endpoint);
      return this.#listener(registry, { url: engine.endpoint, host: hostname, port: Number(port) });
    }
    const { host = this.#settings.host, port = this.#settings.port, dataDir } = options;
    const registry = await this.#host.open(dataDir);
    const address = await fromNativePromise(() => registry.listenEmbedded({ host, port }));
    return this.#listener(registry, address);
  }

  async #transfer<T>(call: (host: NativeRegistry) => Promise<T>): Promise<T> {
    const host = await this.#host.open();
    return fromNativePromise(() => call(host));
  }

  #listener(registry: NativeRegistry, { host, port, url }: ListenAddress): Listener {
    let closed: Promise<void> | undefined;
    const listener: Listener = {
      url,
      host,
      port,
      close: () => {
        closed ??= this.#closeListener(registry);
        return closed;
      },
      ref: () => {
        callNative(() => registry.refListener(true));
        return listener;
      },
      unref: () => {
        callNative(() => registry.refListener(false));
        return listener;
      },
    };
    return listener;
  }

  async #closeListener(registry: NativeRegistry): Promise<void> {
    this.#listening = undefined;
    // A shutdown closes the listener along with everything else.
    await (this.#host.closing ?? fromNativePromise(() => registry.closeListener()));
  }

  #makeClient(): Client<Registry<A>> {
    const { engine } = this.#settings;
    if (engine !== undefined) {
      const { endpoint, namespace, token, poolName } = engine;
      const options = { endpoint, namespace, poolName, disableMetadataLookup: true };
      return createClient(token === undefined ? options : { ...options, token });
    }
    return clientOver(new LocalTransport(() => this.#host.open(), this.#deps));
  }

  #requireEmbedded(): void {
    const { engine } = this.#settings;
    if (engine !== undefined) throw notConfigured("embedded host", `The actors are hosted by ${engine.endpoint}.`);
  }

  *#services(deps: RegistryDeps): Iterable<ActorServices> {
    const { use } = this.config;
    if (typeof use !== "object" || use === null) throw invalidOption("use", "must be an object of actors");
    for (const [name, definition] of Object.entries(use)) {
      if (name === "") throw invalidOption("use", "holds an actor without a name");
      yield {
        name,
        definition: compiledActor(definition, name),
        codec: deps.codec,
        // Looked up late: a registry is set up before native code is needed.
        get native() {
          return deps.native();
        },
        log: this.#log,
        client: () => this.client(),
      };
    }
  }
}
