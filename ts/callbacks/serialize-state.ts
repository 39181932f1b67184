/**
 * Answers native code's question for what to store. Runs inside the actor's event
 * loop, where nothing else of the actor moves: synchronous and quick, unless a
 * state transaction is just being committed.
 */
import { ActorRuntime } from "../context/runtime";
import type { ActorServices } from "../context/services";
import type { NativeContext, StateDelta } from "../native/types";
import type { Handler } from "./factory";

export function serializeState(services: ActorServices): Handler {
  return ({ ctx, reason }: { ctx: NativeContext; reason: string }): StateDelta | Promise<StateDelta> => {
    const delta = ActorRuntime.of(ctx, services).storable();
    return delta instanceof Promise
      ? delta.then((known) => complete(known, ctx, reason))
      : complete(delta, ctx, reason);
  };
}

function complete(delta: StateDelta, ctx: NativeContext, reason: string): StateDelta {
  // An inspector wants to see a state that nobody has touched yet, too; a save
  // need not write it again.
  return reason === "inspector" && delta.state === undefined ? { ...delta, state: ctx.state() } : delta;
}
