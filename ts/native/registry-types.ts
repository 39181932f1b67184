/** The native module itself: its constructors, functions and registry. */
import type { NativeRequestBody, NativeResponseBody } from "./request-types";
import type { JsActorConfig, NativeCancellationToken } from "./types";

/** One flat object of functions, plus `actions` by flattened name. */
export type NativeCallbacks = Record<string, unknown>;

export type NativeFactory = object;

export interface EmbeddedConfig {
  dataDir: string;
  maxOpenDatabases?: number;
  maxSockets?: number;
  maxSocketsPerActor?: number;
  maxSocketsPerAddress?: number;
  maxSocketBuffer?: number;
  region?: string;
  clock?: "real" | "manual";
  clockStartMs?: number;
}

export interface EngineConfig {
  endpoint: string;
  token?: string;
  namespace?: string;
  poolName?: string;
  version?: number;
  region?: string;
  maxSockets?: number;
  maxSocketBuffer?: number;
  engineBinary?: string;
  engineStorage?: string;
}

export interface ServeConfig {
  version: number;
  endpoint: string;
  token?: string;
  namespace: string;
  poolName: string;
  serverlessBasePath: string;
  serverlessPackageVersion: string;
  serverlessClientEndpoint: string;
  serverlessValidateEndpoint: boolean;
  serverlessMaxStartPayloadBytes: number;
}

export type ServerlessEvent =
  | { kind: "chunk"; chunk: Uint8Array }
  | { kind: "end"; error?: { group: string; code: string; message: string } };

export interface ListenAddress {
  host: string;
  port: number;
  url: string;
}

/** Names an actor for a call inside the process. */
export interface LocalTarget {
  actorId?: string;
  name?: string;
  key?: string[];
  method?: string;
  input?: Uint8Array;
}

export interface LocalCallOptions {
  params?: Uint8Array;
  timeoutMs?: number;
}

/** A client's socket inside the process; open from the start. */
export interface NativeLocalSocket {
  send(data: Uint8Array, binary: boolean): void;
  close(code?: number, reason?: string): void;
}

export type LocalSocketEvent =
  | { kind: "message"; data: string | Uint8Array }
  | { kind: "close"; code: number; reason: string };

export interface NativeLocalRequest {
  method: string;
  path: string;
  anyPath?: boolean;
  /** Names and values in turn. */
  headers: string[];
  streams?: boolean;
}

/** One HTTP request inside the process. */
export interface NativeLocalFetch {
  response(): Promise<{ status: number; headers: string[]; streams: boolean }>;
  upload(): NativeResponseBody | null;
  download(): NativeRequestBody | null;
  abort(): void;
}

export interface LocalQueueSendOptions extends LocalCallOptions {
  wait?: boolean;
}

export interface NativeQueueSendResult {
  status: string;
  response?: Uint8Array;
}

export interface NativeRegistry {
  register(name: string, factory: NativeFactory): void;
  openEmbedded(config: EmbeddedConfig): Promise<void>;
  openEngine(config: EngineConfig): Promise<void>;
  handleServerlessRequest(
    request: { method: string; url: string; headers: Record<string, string>; body: Uint8Array },
    onEvent: (error: unknown, event: ServerlessEvent) => Promise<void>,
    token: NativeCancellationToken,
    config: ServeConfig,
  ): Promise<{ status: number; headers: Record<string, string> }>;
  listenEmbedded(options: { host?: string; port?: number }): Promise<ListenAddress>;
  closeListener(): Promise<void>;
  refListener(ref: boolean): void;
  localAction(target: LocalTarget, name: string, args: Uint8Array, options?: LocalCallOptions): Promise<Uint8Array>;
  localQueueSend(
    target: LocalTarget,
    name: string,
    body: Uint8Array,
    options?: LocalQueueSendOptions,
    signal?: NativeCancellationToken,
  ): Promise<NativeQueueSendResult>;
  localResolve(target: LocalTarget): Promise<string>;
  localCreate(name: string, key: string[], input?: Uint8Array): Promise<string>;
  localSocket(path: string, protocols: string, listener: (event: LocalSocketEvent) => void): NativeLocalSocket;
  localFetch(request: NativeLocalRequest): NativeLocalFetch;
  localDestroy(actorId: string): Promise<void>;
  localBackup(target: LocalTarget, file: string): Promise<void>;
  localRestore(target: LocalTarget, file: string): Promise<void>;
  localImport(name: string, key: string[], file: string): Promise<string>;
  shutdown(): Promise<void>;
  clockNow(): number;
  advanceClock(ms: number): Promise<void>;
  evict(actorId: string): Promise<void>;
  crash(): Promise<void>;
}

export interface NativeModule {
  CoreRegistry: new () => NativeRegistry;
  NapiActorFactory: new (callbacks: NativeCallbacks, config?: JsActorConfig) => NativeFactory;
  CancellationToken: new () => NativeCancellationToken;
  encodeCbor(value: unknown): Uint8Array;
  decodeCbor(bytes: Uint8Array): unknown;
  nativeVersion(): string;
}
