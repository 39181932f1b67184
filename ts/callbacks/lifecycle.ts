/** Start, run, sleep and destruction of one generation. */
import { ActorContextImpl } from "../context/actor-context";
import { isAborted } from "../context/queue";
import { ActorRuntime } from "../context/runtime";
import type { ActorServices } from "../context/services";
import { fromNativePromise } from "../errors/bridge";
import type { NativeContext } from "../native/types";
import { onBeforeActionResponse } from "./actions";
import type { Handler } from "./factory";

interface Payload {
  ctx: NativeContext;
}

interface InputPayload extends Payload {
  input: Uint8Array | null;
}

export function lifecycleCallbacks(services: ActorServices): Record<string, Handler | undefined> {
  const { hooks, hasState, hasVars, db } = services.definition;
  return {
    onMigrate: hooks.onMigrate || db ? onMigrate(services) : undefined,
    createState: hasState ? createState(services) : undefined,
    onCreate: hooks.onCreate && onCreate(services),
    createVars: hasVars ? createVars(services) : undefined,
    onWake: simple(services, "onWake"),
    onBeforeActorStart: simple(services, "onBeforeActorStart"),
    run: hooks.run && run(services),
    onSleep: onSleep(services),
    onDestroy: onDestroy(services),
    onBeforeActionResponse: hooks.onBeforeActionResponse && onBeforeActionResponse(services),
  };
}

function simple(services: ActorServices, name: "onWake" | "onBeforeActorStart"): Handler | undefined {
  const hook = services.definition.hooks[name];
  if (hook === undefined) return undefined;
  return async ({ ctx }: Payload) => {
    await hook(new ActorContextImpl(ActorRuntime.of(ctx, services)));
  };
}

function onMigrate(services: ActorServices): Handler {
  return async ({ ctx, isNew }: Payload & { isNew: boolean }) => {
    const runtime = ActorRuntime.of(ctx, services);
    await runtime.database.migrate();
    await services.definition.hooks.onMigrate?.(new ActorContextImpl(runtime), isNew);
  };
}

function createState(services: ActorServices): Handler {
  const { definition, codec } = services;
  const create = definition.hooks.createState;
  // Encoded once for all: every actor starts with a copy, and a default that
  // cannot be stored is found when the registry is set up.
  const constant = create === undefined ? codec.encode(definition.state, "state") : undefined;
  return async ({ ctx, input }: InputPayload) => {
    const runtime = ActorRuntime.of(ctx, services);
    const state =
      constant ?? runtime.encode(await create?.(new ActorContextImpl(runtime), runtime.decode(input)), "state");
    runtime.initialize(state);
    return state;
  };
}

function onCreate(services: ActorServices): Handler {
  return async ({ ctx, input }: InputPayload) => {
    const runtime = ActorRuntime.of(ctx, services);
    await services.definition.hooks.onCreate?.(new ActorContextImpl(runtime), runtime.decode(input));
  };
}

function createVars(services: ActorServices): Handler {
  const { hooks, vars } = services.definition;
  return async ({ ctx }: Payload) => {
    const runtime = ActorRuntime.of(ctx, services);
    runtime.vars = hooks.createVars ? await hooks.createVars(new ActorContextImpl(runtime)) : structuredClone(vars);
  };
}

function run(services: ActorServices): Handler {
  return async ({ ctx }: Payload) => {
    try {
      await services.definition.hooks.run?.(new ActorContextImpl(ActorRuntime.of(ctx, services)));
    } catch (error) {
      // A wait that ends because the actor stops is a regular end of `run`.
      if (!isAborted(error)) throw error;
    }
    return true;
  };
}

/**
 * Calls are still accepted, and share the runtime and the database of those that
 * run: both stay until the generation is over. Native code saves when nothing
 * runs any more; until then it only has to know of every change.
 */
function onSleep(services: ActorServices): Handler {
  const hook = services.definition.hooks.onSleep;
  return async ({ ctx }: Payload) => {
    const runtime = ActorRuntime.of(ctx, services);
    void closeWhenOver(runtime, ctx);
    try {
      await hook?.(new ActorContextImpl(runtime));
    } finally {
      runtime.saves.flush();
    }
  };
}

function onDestroy(services: ActorServices): Handler {
  const hook = services.definition.hooks.onDestroy;
  return async ({ ctx }: Payload) => {
    const runtime = ActorRuntime.of(ctx, services);
    void closeWhenOver(runtime, ctx);
    await hook?.(new ActorContextImpl(runtime));
  };
}

/** Native code drops the runtime and its use of the database by itself. */
async function closeWhenOver(runtime: ActorRuntime, ctx: NativeContext): Promise<void> {
  try {
    await fromNativePromise(() => ctx.untilOver());
    await runtime.database.close();
  } catch (error) {
    runtime.log.warn({ msg: "closing the database failed", error });
  }
}
