// The types of index.js: native classes from the generated `native.d.ts`, the
// TypeScript layer from `lib/`. A test compares names and files.

import type * as lib from "./lib/index.js";
import * as native from "./native.js";

export {
  CancellationToken,
  ConnHandle,
  CoreRegistry,
  decodeCbor,
  decodeInspectorRequest,
  encodeCbor,
  encodeInspectorResponse,
  HttpRequestBodyStream,
  HttpResponseBodyStream,
  JsActorStateTransaction,
  JsNativeDatabase,
  JsSqlCursor,
  JsSqliteTransaction,
  Kv,
  LocalFetch,
  LocalSocket,
  NapiActorFactory,
  nativeVersion,
  OutboundCall,
  Queue,
  QueueMessage,
  Schedule,
  setTelemetryLogSink,
  shutdownTelemetry,
  WebSocket,
  WorkflowSpan,
  WorkflowStepSpan,
} from "./native.js";
export * from "./lib/index.js";

/**
 * The value is the native class; the type is the `c` of user code. The native
 * instance type is `InstanceType<typeof ActorContext>`.
 */
export declare const ActorContext: typeof native.ActorContext;
export type ActorContext<
  S,
  CP,
  CS,
  V,
  I,
  DB extends lib.AnyDatabaseProvider,
  E extends lib.EventSchemaConfig = Record<never, never>,
  Q extends lib.QueueSchemaConfig = Record<never, never>,
> = lib.ActorContext<S, CP, CS, V, I, DB, E, Q>;
