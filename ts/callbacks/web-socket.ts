/** Raw WebSockets: `onWebSocket`. */
import { ActorContextImpl } from "../context/actor-context";
import { ActorSocket } from "../context/actor-socket";
import { ActorRuntime } from "../context/runtime";
import type { ActorServices } from "../context/services";
import type { NativeRequest, NativeWebSocket } from "../native/request-types";
import type { NativeConn, NativeContext } from "../native/types";
import type { Handler } from "./factory";
import { webRequest } from "./web-request";

interface SocketPayload {
  ctx: NativeContext;
  conn: NativeConn;
  ws: NativeWebSocket;
  request?: NativeRequest;
}

export function onWebSocket(services: ActorServices): Handler {
  const hook = services.definition.hooks.onWebSocket;
  return async ({ ctx, conn, ws, request }: SocketPayload) => {
    const runtime = ActorRuntime.of(ctx, services);
    // Listens before user code runs, so that no early message is missed.
    const socket = new ActorSocket(ws, request?.uri ?? "/", runtime.log, (work) => runtime.listening(work));
    const c = new ActorContextImpl(runtime, {
      conn: () => runtime.conns.of(conn),
      request: request === undefined ? undefined : () => webRequest(request),
    });
    await hook?.(c, socket);
  };
}
