/** Everything a program imports from `greenroom`, besides the native classes. */
import { jsCodec } from "./codec/index";
import { nativeModule } from "./native/load";
import type { RegistryConfigInput } from "./registry/config";
import { type Actors, Registry as RegistryClass } from "./registry/registry";

/**
 * Makes a registry of actors. Opens nothing yet.
 *
 * Values are encoded in JavaScript although native code can do it, too: crossing
 * into native code once per property costs four to eleven times as much.
 */
export function setup<A extends Actors>(config: RegistryConfigInput<A>): RegistryClass<A> {
  return new RegistryClass(config, { native: nativeModule, codec: jsCodec });
}

export type * from "./client/index";
export { createClient } from "./client/index";
export type {
  ActorQueue,
  CompletableQueueMessage,
  DeadLetter,
  DeadLetters,
  LeasedQueueMessage,
  QueueMessage,
  QueueStats,
} from "./context/queue-types";
export type {
  ActorCron,
  ActorKv,
  ActorLogger,
  ActorSchedule,
  CronFire,
  CronJobInfo,
  LogLevel,
  ScheduledEventInfo,
  ScheduledFireInfo,
} from "./context/service-types";
export type {
  ActionContext,
  ActorContext,
  BeforeConnectContext,
  Conn,
  CreateContext,
  RequestSaveOptions,
  SaveStateOptions,
} from "./context/types";
export type { UniversalWebSocket } from "./context/websocket-types";
export { db } from "./db/raw-access";
export { sql } from "./db/template";
export type {
  AnyDatabaseProvider,
  DatabaseProvider,
  InferDatabaseClient,
  RawAccess,
  SqliteBindings,
  SqliteDatabase,
  SqliteRunResult,
  SqliteTransactionOptions,
  SqlLimits,
  SqlRow,
  SqlStatement,
  SqlValue,
} from "./db/types";
export { actor } from "./define/actor";
export type { ActionContextOf, ActorContextOf, ConnContextOf, CreateContextOf } from "./define/context-of";
export type { QueueBackoff, QueueDelivery } from "./define/delivery";
export type { ActorOptions } from "./define/options";
export type {
  EventOptions,
  EventSchemaConfig,
  EventTypeToken,
  LeasedQueueTypeToken,
  QueueOptions,
  QueueSchemaConfig,
  QueueTypeToken,
  StandardSchema,
} from "./define/schema";
export { event, queue } from "./define/schema";
export type {
  ActionInputSchemas,
  Actions,
  ActorConfigInput,
  ActorDefinition,
  ActorTypes,
  AnyActorDefinition,
  InspectorTab,
  RunConfig,
} from "./define/types";
export type { ActorErrorOptions, ActorSpecifier, UserErrorOptions } from "./errors/actor-error";
export { ActorError, ActorError as RivetError, UserError } from "./errors/actor-error";
export type { ListenOptions, RegistryConfigInput } from "./registry/config";
export type { Actors, Listener, ServerlessHandler } from "./registry/registry";
export { Registry } from "./registry/registry";
