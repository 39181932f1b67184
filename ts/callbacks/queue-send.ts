/** Messages that clients send into the queue. */
import { ActorContextImpl } from "../context/actor-context";
import { ActorRuntime } from "../context/runtime";
import type { ActorServices } from "../context/services";
import { validate } from "../define/schema";
import { ActorError } from "../errors/actor-error";
import { fromNativePromise } from "../errors/bridge";
import { forbidden } from "../errors/raised";
import type { NativeRequest } from "../native/request-types";
import type { NativeCancellationToken, NativeConn, NativeContext } from "../native/types";
import type { Handler } from "./factory";
import { webRequest } from "./web-request";

interface SendPayload {
  ctx: NativeContext;
  conn: NativeConn | null;
  request?: NativeRequest | null;
  name: string;
  body: Uint8Array;
  wait: boolean;
  timeoutMs: bigint | null;
  cancelToken: NativeCancellationToken;
}

interface SendResult {
  status: "completed" | "timedOut";
  response?: Uint8Array;
}

export function onQueueSend(services: ActorServices): Handler {
  return async (payload: SendPayload): Promise<SendResult> => {
    const schema = services.definition.queues?.get(payload.name);
    // As in RivetKit: what the actor does not declare, it does not hear.
    if (schema === undefined) return { status: "completed" };
    const runtime = ActorRuntime.of(payload.ctx, services);
    if (schema.allow !== undefined && !(await schema.allow(contextOf(runtime, payload)))) {
      throw forbidden(`Sending to queue '${payload.name}'`);
    }
    const body = await validBody(runtime, payload);
    return payload.wait ? sendAndWait(payload, body) : send(payload, body);
  };
}

async function send({ ctx, name }: SendPayload, body: Uint8Array): Promise<SendResult> {
  await fromNativePromise(() => ctx.queue().send(name, body));
  return { status: "completed" };
}

async function sendAndWait({ ctx, name, timeoutMs, cancelToken }: SendPayload, body: Uint8Array): Promise<SendResult> {
  const options = timeoutMs === null ? {} : { timeoutMs: Number(timeoutMs) };
  try {
    const response = await fromNativePromise(() => ctx.queue().enqueueAndWait(name, body, options, cancelToken));
    return { status: "completed", ...(response !== null && { response }) };
  } catch (error) {
    const timedOut = error instanceof ActorError && error.group === "queue" && error.code === "timed_out";
    if (timedOut) return { status: "timedOut" };
    throw error;
  }
}

/** The body as it came, unless a schema had a say in it. */
async function validBody(runtime: ActorRuntime, { name, body }: SendPayload): Promise<Uint8Array> {
  const schema = runtime.services.definition.queues?.get(name)?.message;
  if (schema === undefined) return body;
  const checked = await validate(schema, runtime.decode(body), "queue", `Message of queue '${name}'`);
  return runtime.encode(checked, "body");
}

function contextOf(runtime: ActorRuntime, { conn, request, cancelToken }: SendPayload): ActorContextImpl {
  return new ActorContextImpl(runtime, {
    conn: conn === null ? undefined : () => runtime.conns.of(conn),
    request: request == null ? undefined : () => webRequest(request),
    cancelToken: () => cancelToken,
  });
}
