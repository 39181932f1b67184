/**
 * From a checked definition to the callbacks and configuration that one native
 * actor factory is made of. A callback that has nothing to do is not registered,
 * so that native code need not call it.
 */
import { ActorRuntime } from "../context/runtime";
import type { ActorServices } from "../context/services";
import { nativePolicy } from "../define/delivery";
import { type ActorOptions, nativeOptions } from "../define/options";
import type { InspectorTab } from "../define/types";
import type { NativeCallbacks } from "../native/registry-types";
import type { JsActorConfig, NativeContext } from "../native/types";
import { actionCallbacks } from "./actions";
import { bridged } from "./bridged";
import { connectionCallbacks } from "./connections";
import { lifecycleCallbacks } from "./lifecycle";
import { onQueueSend } from "./queue-send";
import { onRequest } from "./request";
import { serializeState } from "./serialize-state";
import { onWebSocket } from "./web-socket";

export type Handler = (payload: any) => unknown;

/** All native callbacks of an actor type. */
export function createCallbacks(services: ActorServices): NativeCallbacks {
  const { definition, log, name } = services;
  const hooks: Record<string, Handler | undefined> = {
    ...lifecycleCallbacks(services),
    ...connectionCallbacks(services),
    onQueueSend: onQueueSend(services),
    onWebSocket: definition.hooks.onWebSocket && onWebSocket(services),
  };
  const callbacks: NativeCallbacks = {
    actions: bridgeAll(actionCallbacks(services), `action ${name}.`, services),
    onRequest: bridged(`onRequest of ${name}`, log, onRequest(services)),
    serializeState: bridged(`serializeState of ${name}`, log, serializeState(services)),
  };
  for (const [hook, handler] of Object.entries(hooks)) {
    if (handler !== undefined) callbacks[hook] = bridged(`${hook} of ${name}`, log, settling(handler, services));
  }
  return callbacks;
}

/** Has what a hook changed told to native code before its end is. */
function settling(handler: Handler, services: ActorServices): Handler {
  return async (payload: { ctx: NativeContext }) => {
    try {
      return await handler(payload);
    } finally {
      ActorRuntime.of(payload.ctx, services).settle();
    }
  };
}

/** The native configuration of an actor type. */
export function createConfig({ definition }: ActorServices, limits: ActorOptions): JsActorConfig {
  const tabs = definition.tabs.map((tab: InspectorTab) => ({ ...tab }));
  const queues = [...(definition.queues ?? [])].flatMap(([name, { delivery }]) =>
    delivery === undefined ? [] : [nativePolicy(name, delivery)],
  );
  return {
    // Native code starts from RivetKit's default, which keeps actors awake.
    hibernateWhenIdle: true,
    ...nativeOptions(limits),
    ...nativeOptions(definition.options),
    hasDatabase: true,
    hasState: definition.hasState,
    actions: [...definition.actions.keys()].sort().map((name) => ({ name })),
    ...(queues.length > 0 && { queues }),
    ...(tabs.length > 0 && { inspectorTabs: tabs }),
  };
}

function bridgeAll(handlers: ReadonlyMap<string, Handler>, prefix: string, { log }: ActorServices): NativeCallbacks {
  // Without a prototype: an action may be called `constructor`.
  const callbacks: NativeCallbacks = Object.create(null);
  for (const [name, handler] of handlers) callbacks[name] = bridged(prefix + name, log, handler);
  return callbacks;
}
