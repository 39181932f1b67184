/**
 * The native classes as the TypeScript layer uses them.
 *
 * Written by hand and narrower than the generated declarations; a type test
 * holds the two against each other, so that neither can drift unnoticed.
 */
import type { NativeQueuePolicy } from "../define/delivery";
import type { NativeRequest } from "./request-types";
import type { NativeDatabase, NativeKv, NativeQueue, NativeSchedule, NativeStateTransaction } from "./storage-types";

export interface JsActorConfig {
  name?: string;
  icon?: string;
  hasDatabase?: boolean;
  hasState?: boolean;
  enableActorRuntimeSocket?: boolean;
  canHibernateWebsocket?: boolean;
  stateSaveIntervalMs?: number;
  createStateTimeoutMs?: number;
  onCreateTimeoutMs?: number;
  createVarsTimeoutMs?: number;
  createConnStateTimeoutMs?: number;
  onBeforeConnectTimeoutMs?: number;
  onConnectTimeoutMs?: number;
  onMigrateTimeoutMs?: number;
  onWakeTimeoutMs?: number;
  onBeforeActorStartTimeoutMs?: number;
  actionTimeoutMs?: number;
  onRequestTimeoutMs?: number;
  sleepTimeoutMs?: number;
  noSleep?: boolean;
  sleepGracePeriodMs?: number;
  connectionLivenessTimeoutMs?: number;
  connectionLivenessIntervalMs?: number;
  maxQueueSize?: number;
  maxSchedules?: number;
  maxQueueMessageSize?: number;
  maxIncomingMessageSize?: number;
  maxOutgoingMessageSize?: number;
  hibernateWhenIdle?: boolean;
  durability?: string;
  queues?: NativeQueuePolicy[];
  actions?: { name: string }[];
  inspectorTabs?: { id: string; label?: string; source?: string; icon?: string; hidden?: boolean }[];
}

export interface StateDelta {
  state?: Uint8Array;
  connHibernation: { connId: string; bytes: Uint8Array }[];
  connHibernationRemoved: string[];
}

export interface NativeKeySegment {
  kind: string;
  stringValue?: string;
  numberValue?: number;
}

export interface SaveRequest {
  immediate?: boolean;
  maxWaitMs?: number;
}

export interface NativeContext {
  actorId(): string;
  name(): string;
  key(): NativeKeySegment[];
  region(): string;
  aborted(): boolean;
  abortSignal(): AbortSignal;
  state(): Uint8Array;
  requestSave(options?: SaveRequest): void;
  saveState(delta: StateDelta): Promise<void>;
  requestSaveAndWait(options?: SaveRequest): Promise<void>;
  beginStateTransaction(timeoutMs?: number): Promise<NativeStateTransaction>;
  beginOnStateChange(): void;
  endOnStateChange(): void;
  takePendingHibernationChanges(): string[];
  dirtyHibernatableConns(): NativeConn[];
  sleep(): void;
  destroy(): void;
  keepAwake(promise: Promise<unknown>): void;
  waitUntil(promise: Promise<unknown>): void;
  /** 0: the generation is over, and nothing is held up. */
  beginWebsocketCallback(): number;
  endWebsocketCallback(region: number): void;
  untilOver(): Promise<void>;
  runtimeState(): object;
  kv(): NativeKv;
  sql(): NativeDatabase;
  schedule(): NativeSchedule;
  queue(): NativeQueue;
  conns(): NativeConn[];
  connectConn(params: Uint8Array, request?: NativeRequest): Promise<NativeConn>;
  broadcast(name: string, args: Uint8Array): void;
}

export interface NativeConn {
  id(): string;
  params(): Uint8Array;
  state(): Uint8Array;
  setState(state: Uint8Array): void;
  isHibernatable(): boolean;
  send(name: string, args: Uint8Array): void;
  disconnect(reason?: string): Promise<void>;
}

export interface NativeCancellationToken {
  aborted(): boolean;
  cancel(): void;
  onCancelled(callback: () => void): void;
}
