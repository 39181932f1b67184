/** The hooks around a connection. */
import { ActorContextImpl } from "../context/actor-context";
import { hearsDisconnects } from "../context/conns";
import { ActorRuntime } from "../context/runtime";
import type { ActorServices } from "../context/services";
import { validate } from "../define/schema";
import { forbidden } from "../errors/raised";
import type { NativeRequest } from "../native/request-types";
import type { NativeConn, NativeContext } from "../native/types";
import type { Handler } from "./factory";
import { webRequest } from "./web-request";

interface JudgePayload {
  ctx: NativeContext;
  params: Uint8Array;
  request?: NativeRequest;
}

interface ConnPayload {
  ctx: NativeContext;
  conn: NativeConn;
  request?: NativeRequest;
}

export function connectionCallbacks(services: ActorServices): Record<string, Handler | undefined> {
  const { hooks, hasConnState, connParams, events } = services.definition;
  const guarded = [...events.values()].some(({ allow }) => allow !== undefined);
  return {
    onBeforeConnect: hooks.onBeforeConnect || connParams ? onBeforeConnect(services) : undefined,
    createConnState: hasConnState ? createConnState(services) : undefined,
    onConnect: hooks.onConnect && onConnect(services),
    onDisconnectFinal: hearsDisconnects(services.definition) ? onDisconnectFinal(services) : undefined,
    onBeforeSubscribe: guarded ? onBeforeSubscribe(services) : undefined,
  };
}

function onBeforeConnect(services: ActorServices): Handler {
  const hook = services.definition.hooks.onBeforeConnect;
  return async ({ ctx, params, request }: JudgePayload) => {
    const runtime = ActorRuntime.of(ctx, services);
    const accepted = await acceptedParams(runtime, params);
    await hook?.(new ActorContextImpl(runtime, requestOf(request)), accepted);
  };
}

function createConnState(services: ActorServices): Handler {
  const { hooks, connState } = services.definition;
  const create = hooks.createConnState;
  const constant = create === undefined ? services.codec.encode(connState, "connState") : undefined;
  return ({ ctx, conn: native, params, request }: ConnPayload & JudgePayload) => {
    const runtime = ActorRuntime.of(ctx, services);
    const conn = runtime.conns.of(native);
    return runtime.conns.opening(conn, async () => {
      const accepted = await acceptedParams(runtime, params);
      conn.acceptParams(accepted);
      const state =
        constant ??
        runtime.encode(await create?.(new ActorContextImpl(runtime, requestOf(request)), accepted), "conn.state");
      conn.initialize(state);
      return state;
    });
  };
}

function onConnect(services: ActorServices): Handler {
  const hook = services.definition.hooks.onConnect;
  return ({ ctx, conn: native, request }: ConnPayload) => {
    const runtime = ActorRuntime.of(ctx, services);
    const conn = runtime.conns.of(native);
    return runtime.conns.opening(conn, async () => {
      await hook?.(new ActorContextImpl(runtime, { conn: () => conn, ...requestOf(request) }), conn);
    });
  };
}

function onDisconnectFinal(services: ActorServices): Handler {
  const hook = services.definition.hooks.onDisconnect;
  return async ({ ctx, conn: native }: ConnPayload) => {
    const runtime = ActorRuntime.of(ctx, services);
    const conn = runtime.conns.of(native);
    try {
      await hook?.(new ActorContextImpl(runtime, { conn: () => conn }), conn);
    } finally {
      runtime.conns.forget(conn.id);
    }
  };
}

function onBeforeSubscribe(services: ActorServices): Handler {
  return async ({ ctx, conn: native, eventName }: ConnPayload & { eventName: string }) => {
    const allow = services.definition.events.get(eventName)?.allow;
    if (allow === undefined) return;
    const runtime = ActorRuntime.of(ctx, services);
    const c = new ActorContextImpl(runtime, { conn: () => runtime.conns.of(native) });
    if (!(await allow(c))) throw forbidden(`Subscribing to event '${eventName}'`);
  };
}

async function acceptedParams(runtime: ActorRuntime, params: Uint8Array): Promise<unknown> {
  const schema = runtime.services.definition.connParams;
  return validate(schema, runtime.decode(params), "actor", "Connection params");
}

function requestOf(request: NativeRequest | undefined): { request?: () => Request } {
  return request == null ? {} : { request: () => webRequest(request) };
}
