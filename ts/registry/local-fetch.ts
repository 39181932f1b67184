/** Raw HTTP inside the process: Web requests and responses without a port. */
import { BODILESS } from "../common/bodiless";
import { fromNativePromise } from "../errors/bridge";
import type { NativeLocalFetch, NativeLocalRequest, NativeRegistry } from "../native/registry-types";
import type { NativeResponseBody } from "../native/request-types";

const MAX_CHUNK = 64 * 1024;

/**
 * Sends a request to a gateway path, or with `anyPath` to whatever the port has;
 * `headers` are those of the request and the gateway's.
 */
export async function localFetch(
  registry: NativeRegistry,
  request: Request,
  { path, headers, anyPath = false }: { path: string; headers: Headers; anyPath?: boolean },
): Promise<Response> {
  request.signal.throwIfAborted();
  const head: NativeLocalRequest = {
    method: request.method,
    path,
    anyPath,
    headers: [...headers].flat(),
    streams: request.body !== null,
  };
  const fetching = registry.localFetch(head);
  const onAbort = () => fetching.abort();
  request.signal.addEventListener("abort", onAbort, { once: true });
  const upload = fetching.upload();
  if (request.body !== null && upload !== null) void send(request.body, upload);
  const forget = () => request.signal.removeEventListener("abort", onAbort);
  try {
    const { status, headers: pairs, streams } = await fromNativePromise(() => fetching.response());
    const init = { status, headers: paired(pairs) };
    if (!streams || BODILESS.has(status)) {
      forget();
      return new Response(null, init);
    }
    return new Response(bodyOf(fetching, request.signal, forget), init);
  } catch (error) {
    forget();
    // The caller's own abort stays what it is.
    if (request.signal.aborted) throw request.signal.reason;
    throw error;
  }
}

/** A body that breaks off tells the actor so; whoever made it has the error. */
async function send(body: ReadableStream<Uint8Array>, out: NativeResponseBody): Promise<void> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      for (let at = 0; at < value.length; at += MAX_CHUNK) await out.write(value.subarray(at, at + MAX_CHUNK));
    }
    await out.end();
  } catch (error) {
    reader.cancel(error).catch(() => undefined);
    out.error(error instanceof Error ? error.message : String(error)).catch(() => undefined);
  }
}

function bodyOf(fetching: NativeLocalFetch, signal: AbortSignal, done: () => void): ReadableStream<Uint8Array> {
  const native = fetching.download();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const chunk = await native?.read();
      // An abort ends the body early; that must not look like its end.
      if (signal.aborted) controller.error(signal.reason);
      else if (chunk == null) controller.close();
      else return controller.enqueue(chunk);
      done();
    },
    cancel() {
      done();
      return native?.cancel();
    },
  });
}

function paired(flat: readonly string[]): Headers {
  const headers = new Headers();
  for (let at = 0; at + 1 < flat.length; at += 2) headers.append(flat[at] as string, flat[at + 1] as string);
  return headers;
}
