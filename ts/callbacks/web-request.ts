/** Native requests as Web `Request` objects. */
import type { NativeRequest, NativeRequestBody } from "../native/request-types";

const ORIGIN = "http://127.0.0.1";
const WITHOUT_BODY: ReadonlySet<string> = new Set(["GET", "HEAD"]);

export function webRequest(native: NativeRequest, signal?: AbortSignal): Request {
  const init: RequestInit & { duplex?: "half" } = { method: native.method, headers: webHeaders(native.headers) };
  if (signal !== undefined) init.signal = signal;
  if (!WITHOUT_BODY.has(native.method.toUpperCase())) {
    if (native.bodyStream != null) {
      init.body = bodyStream(native.bodyStream);
      init.duplex = "half";
    } else if (native.body != null && native.body.length > 0) {
      init.body = native.body;
    }
  }
  return new Request(new URL(native.uri, ORIGIN), init);
}

/** Headers a client may send but the Fetch standard reserves are left out. */
function webHeaders(native: Record<string, string> = {}): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(native)) {
    try {
      headers.append(name, value);
    } catch {
      // A name or value that no Headers object can hold; the request stays usable.
    }
  }
  return headers;
}

function bodyStream(native: NativeRequestBody): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const chunk = await native.read();
      if (chunk === null) controller.close();
      else controller.enqueue(chunk);
    },
    cancel: () => native.cancel(),
  });
}
