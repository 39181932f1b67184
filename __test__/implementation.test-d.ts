// Checked by `tsc`, never run: the classes behind the public interfaces have all
// that the interfaces promise.
import { expectTypeOf, test } from "vitest";
import type * as native from "../native.js";
import type { ActorContextImpl } from "../ts/context/actor-context";
import type { ConnImpl } from "../ts/context/conns";
import type { ActorQueueImpl } from "../ts/context/queue";
import type { ActorContext, ActorQueue, Conn } from "../ts/index";
import type { EmbeddedConfig, NativeModule, NativeRegistry } from "../ts/native/registry-types";
import type { NativeRequestBody, NativeResponseBody, NativeWebSocket } from "../ts/native/request-types";
import type {
  NativeDatabase,
  NativeKv,
  NativeQueue,
  NativeQueueMessage,
  NativeSchedule,
  NativeSqlCursor,
  NativeStateTransaction,
  NativeTransaction,
} from "../ts/native/storage-types";
import type { JsActorConfig, NativeCancellationToken, NativeConn, NativeContext } from "../ts/native/types";

type Context = ActorContext<unknown, unknown, unknown, unknown, unknown, undefined>;

/** Results that depend on type parameters, which a class without them cannot have. */
type Dependent = "_input" | "client" | "db" | "queue" | "request";

test("the context", () => {
  expectTypeOf<ActorContextImpl>().toExtend<Omit<Context, Dependent>>();
  expectTypeOf<Exclude<keyof Context, keyof ActorContextImpl>>().toEqualTypeOf<"_input">();
});

test("connections and the queue", () => {
  expectTypeOf<ConnImpl>().toExtend<Conn>();
  expectTypeOf<Exclude<keyof ActorQueue, keyof ActorQueueImpl>>().toEqualTypeOf<never>();
});

/** Members that this layer counts on and the native class does not have. */
type Missing<Expected, Class extends abstract new (...args: never[]) => unknown> = Exclude<
  keyof Expected,
  keyof InstanceType<Class>
>;

test("the native classes have every method this layer calls", () => {
  expectTypeOf<Missing<NativeContext, typeof native.ActorContext>>().toBeNever();
  expectTypeOf<Missing<NativeConn, typeof native.ConnHandle>>().toBeNever();
  expectTypeOf<Missing<NativeCancellationToken, typeof native.CancellationToken>>().toBeNever();
  expectTypeOf<Missing<NativeQueue, typeof native.Queue>>().toBeNever();
  expectTypeOf<Missing<NativeQueueMessage, typeof native.QueueMessage>>().toBeNever();
  expectTypeOf<Missing<NativeSchedule, typeof native.Schedule>>().toBeNever();
  expectTypeOf<Missing<NativeKv, typeof native.Kv>>().toBeNever();
  expectTypeOf<Missing<NativeDatabase, typeof native.JsNativeDatabase>>().toBeNever();
  expectTypeOf<Missing<NativeTransaction, typeof native.JsSqliteTransaction>>().toBeNever();
  expectTypeOf<Missing<NativeStateTransaction, typeof native.JsActorStateTransaction>>().toBeNever();
  expectTypeOf<Missing<NativeSqlCursor, typeof native.JsSqlCursor>>().toBeNever();
  expectTypeOf<Missing<NativeWebSocket, typeof native.WebSocket>>().toBeNever();
  expectTypeOf<Missing<NativeRequestBody, typeof native.HttpRequestBodyStream>>().toBeNever();
  expectTypeOf<Missing<NativeResponseBody, typeof native.HttpResponseBodyStream>>().toBeNever();
  expectTypeOf<Missing<NativeRegistry, typeof native.CoreRegistry>>().toBeNever();
  expectTypeOf<Exclude<keyof NativeModule, keyof typeof native>>().toBeNever();
  expectTypeOf<typeof native>().not.toBeAny();
});

test("the native configuration has every field this layer sets", () => {
  expectTypeOf<Exclude<keyof JsActorConfig, keyof native.JsActorConfig>>().toBeNever();
  expectTypeOf<Exclude<keyof EmbeddedConfig, keyof native.JsEmbeddedConfig>>().toBeNever();
});
