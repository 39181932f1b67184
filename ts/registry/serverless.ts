/** Requests of an engine that come through somebody else's server. */
import { BODILESS } from "../common/bodiless";
import { fromNativePromise } from "../errors/bridge";
import type { NativeModule, NativeRegistry, ServeConfig, ServerlessEvent } from "../native/registry-types";
import type { EngineSettings } from "./engine";

/** The release of the published package whose interfaces are spoken. */
const COMPATIBLE_VERSION = "2.3.19";
const MAX_START_BYTES = 16 * 1024 * 1024;

export function serveConfig(engine: EngineSettings, basePath: string): ServeConfig {
  const { endpoint, token, namespace, poolName, version } = engine;
  return {
    version,
    endpoint,
    namespace,
    poolName,
    ...(token !== undefined && { token }),
    serverlessBasePath: basePath,
    serverlessPackageVersion: COMPATIBLE_VERSION,
    serverlessClientEndpoint: endpoint,
    // Whoever asks for an actor gets to know the state of it.
    serverlessValidateEndpoint: true,
    serverlessMaxStartPayloadBytes: MAX_START_BYTES,
  };
}

/** Answers one request; its body is read whole, the answer's is a stream. */
export async function answerServerless(
  registry: NativeRegistry,
  native: NativeModule,
  request: Request,
  config: ServeConfig,
): Promise<Response> {
  request.signal.throwIfAborted();
  const token = new native.CancellationToken();
  const cancel = () => token.cancel();
  request.signal.addEventListener("abort", cancel, { once: true });
  const { body, onEvent } = streamed(() => {
    request.signal.removeEventListener("abort", cancel);
    cancel();
  });
  const asked = {
    method: request.method,
    url: request.url,
    headers: Object.fromEntries(request.headers),
    body: new Uint8Array(await request.arrayBuffer()),
  };
  const head = await fromNativePromise(() => registry.handleServerlessRequest(asked, onEvent, token, config));
  return new Response(BODILESS.has(head.status) ? null : body, head);
}

/** A body that events fill, each as soon as its reader wants more. */
function streamed(onEnd: () => void) {
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  let wanted: (() => void) | undefined;
  let over = false;
  const end = () => {
    over = true;
    wanted?.();
    onEnd();
  };
  const body = new ReadableStream<Uint8Array>({
    start: (given) => {
      controller = given;
    },
    pull: () => wanted?.(),
    cancel: end,
  });
  const onEvent = async (_: unknown, event: ServerlessEvent) => {
    if (over) return;
    if (event.kind === "end") {
      if (event.error === undefined) controller.close();
      else controller.error(new Error(event.error.message));
      end();
      return;
    }
    controller.enqueue(event.chunk);
    if ((controller.desiredSize ?? 0) > 0) return;
    await new Promise<void>((resolve) => {
      wanted = resolve;
    });
  };
  return { body, onEvent };
}
