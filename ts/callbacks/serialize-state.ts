/**
 * Answers native code's question for what to store. Runs inside the actor's event
 * loop, where nothing else of the actor moves: synchronous and quick.
 */
import { ActorRuntime } from "../context/runtime";
import type { ActorServices } from "../context/services";
import type { NativeContext, StateDelta } from "../native/types";
import type { Handler } from "./factory";

export function serializeState(services: ActorServices): Handler {
  return ({ ctx, reason }: { ctx: NativeContext; reason: string }): StateDelta => {
    const delta = ActorRuntime.of(ctx, services).delta();
    // An inspector wants to see a state that nobody has touched yet, too; a save
    // need not write it again.
    return reason === "inspector" && delta.state === undefined ? { ...delta, state: ctx.state() } : delta;
  };
}
