/** Raw HTTP: `onRequest` with Web `Request` and `Response`, bodies streamed. */
import { BODILESS } from "../common/bodiless";
import { linkedSignal } from "../context/abort";
import { ActorContextImpl } from "../context/actor-context";
import { ActorRuntime } from "../context/runtime";
import type { ActorServices } from "../context/services";
import { ActorError } from "../errors/actor-error";
import { fromNativePromise } from "../errors/bridge";
import type { NativeRequest, NativeResponse, NativeResponseBody } from "../native/request-types";
import type { NativeCancellationToken, NativeContext } from "../native/types";
import type { Handler } from "./factory";
import { webRequest } from "./web-request";

interface RequestPayload {
  ctx: NativeContext;
  request: NativeRequest;
  responseBodyStream?: NativeResponseBody;
  cancelToken: NativeCancellationToken;
}

const NO_HANDLER: NativeResponse = { status: 404, headers: {}, body: new Uint8Array() };
const MAX_CHUNK = 64 * 1024;

export function onRequest(services: ActorServices): Handler {
  const hook = services.definition.hooks.onRequest;
  if (hook === undefined) return () => NO_HANDLER;
  return async (payload: RequestPayload) => {
    const { ctx, request: native, cancelToken } = payload;
    const runtime = ActorRuntime.of(ctx, services);
    const { signal, unlink, end } = linkedSignal(runtime.aborts, cancelToken);
    const connect = () => ctx.connectConn(connParams(runtime, native), native);
    const opened = async () => ({ request: requestOf(native, signal), conn: await fromNativePromise(connect) });
    const { request, conn } = await opened().catch((error) => {
      unlink();
      throw error;
    });
    const c = new ActorContextImpl(runtime, {
      conn: () => runtime.conns.of(conn),
      request: () => request,
      cancelToken: () => cancelToken,
    });
    let finish: Promise<boolean> | undefined;
    try {
      const response: unknown = await hook(c, request);
      if (!(response instanceof Response)) throw noResponse(response);
      const reply = await nativeResponse(response, payload.responseBodyStream, signal);
      finish = reply.finished;
      return reply.head;
    } finally {
      runtime.settle();
      // Connection and request body last as long as the response does, not as its
      // head: a response may be made from what still arrives.
      void Promise.resolve(finish).then((clientLeft) => {
        // Held until here: the signal of a `Request` is silent once that is collected.
        void request;
        // Of a client that left the signal tells, if it has not yet.
        if (clientLeft === true) end();
        else unlink();
        ActorContextImpl.endCall(c);
        return Promise.all([settled(native.bodyStream?.cancel()), settled(conn.disconnect())]);
      });
    }
  };
}

/** @throws ActorError `actor/invalid_request` for what no `Request` can hold. */
function requestOf(native: NativeRequest, signal: AbortSignal): Request {
  try {
    return webRequest(native, signal);
  } catch (cause) {
    throw invalidRequest(`${native.method} ${native.uri} cannot be a Request`, cause);
  }
}

/** The head at once; a body of unknown length follows through the native stream. */
async function nativeResponse(
  response: Response,
  stream: NativeResponseBody | undefined,
  signal: AbortSignal,
): Promise<{ head: NativeResponse; finished?: Promise<boolean> }> {
  const head = { status: response.status, headers: headersOf(response) };
  if (response.body === null || BODILESS.has(response.status)) return { head: { ...head, body: new Uint8Array() } };
  if (stream === undefined) {
    return { head: { ...head, body: new Uint8Array(await response.arrayBuffer()) } };
  }
  return { head: { ...head, stream: true }, finished: pump(response.body, stream, signal) };
}

/** Moves a body chunk by chunk, as fast as the client takes it; tells whether that left. */
async function pump(body: ReadableStream<Uint8Array>, out: NativeResponseBody, signal: AbortSignal): Promise<boolean> {
  const reader = body.getReader();
  let left = false;
  const stop = () => void reader.cancel(signal.reason).catch(() => undefined);
  const leave = () => {
    left = true;
    stop();
  };
  // The client may leave while the handler's stream has nothing to say.
  void out.cancelled().then(leave, leave);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      for (let at = 0; at < value.length; at += MAX_CHUNK) await out.write(value.subarray(at, at + MAX_CHUNK));
    }
    const hasLeft = left;
    await out.end();
    return hasLeft;
  } catch (error) {
    stop();
    // Either the handler's stream broke, or nobody listens any more; then this
    // fails, too, and there is nobody left to tell.
    return out.error(error instanceof Error ? error.message : String(error)).then(
      () => false,
      () => true,
    );
  }
}

/** Set-Cookie may repeat, and a native header map holds one value per name. */
function headersOf(response: Response): Record<string, string> {
  return Object.fromEntries(response.headers);
}

/** Conn params come as JSON in a header; without it they are undefined. */
function connParams(runtime: ActorRuntime, { headers }: NativeRequest): Uint8Array {
  const text = headers?.["x-rivet-conn-params"];
  if (text === undefined) return runtime.encode(undefined, "params");
  try {
    return runtime.encode(JSON.parse(text), "params");
  } catch (cause) {
    throw invalidRequest("x-rivet-conn-params is not JSON", cause);
  }
}

function invalidRequest(reason: string, cause: unknown): ActorError {
  return new ActorError("actor", "invalid_request", `Invalid request: ${reason}`, { metadata: { reason }, cause });
}

function noResponse(value: unknown): TypeError {
  return new TypeError(`onRequest must return a Response, not ${value === null ? "null" : typeof value}`);
}

async function settled(promise: Promise<void> | undefined): Promise<void> {
  await promise?.catch(() => undefined);
}
