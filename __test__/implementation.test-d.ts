// Checked by `tsc`, never run: the classes behind the public interfaces have all
// that the interfaces promise.
import { expectTypeOf, test } from "vitest";
import type { ActorContextImpl } from "../ts/context/actor-context";
import type { ConnImpl } from "../ts/context/conns";
import type { ActorQueueImpl } from "../ts/context/queue";
import type { ActorContext, ActorQueue, Conn } from "../ts/index";

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
