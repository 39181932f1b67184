/** Actions: arguments in, user code, output back. */
import { ActorContextImpl } from "../context/actor-context";
import { ActorRuntime } from "../context/runtime";
import type { ScheduledFireInfo } from "../context/service-types";
import type { ActorServices } from "../context/services";
import type { CompiledAction } from "../define/actions";
import { validateSoon } from "../define/schema";
import { ActorError } from "../errors/actor-error";
import type { NativeCancellationToken, NativeConn, NativeContext } from "../native/types";
import type { Handler } from "./factory";

interface ActionPayload {
  ctx: NativeContext;
  conn: NativeConn | null;
  args: Uint8Array;
  scheduledFire?: ScheduledFireInfo | undefined;
  readonly cancelToken: NativeCancellationToken;
}

interface ResponsePayload {
  ctx: NativeContext;
  name: string;
  args: Uint8Array;
  output: Uint8Array;
}

export function actionCallbacks(services: ActorServices): Map<string, Handler> {
  const callbacks = new Map<string, Handler>();
  for (const action of services.definition.actions.values()) {
    callbacks.set(action.name, (payload: ActionPayload) => runAction(services, action, payload));
  }
  return callbacks;
}

async function runAction(services: ActorServices, action: CompiledAction, payload: ActionPayload): Promise<Uint8Array> {
  const runtime = ActorRuntime.of(payload.ctx, services);
  const { conn } = payload;
  const c = new ActorContextImpl(runtime, {
    conn: conn === null ? undefined : () => runtime.conns.of(conn),
    // Read late: native code makes the token when the property is read.
    cancelToken: () => payload.cancelToken,
  });
  // No pause where none is needed: a scheduled action has begun, as far as native
  // code can tell, when this function pauses for the first time.
  const checked = validArgs(action, decodeArgs(services, payload.args));
  const args = checked instanceof Promise ? await checked : checked;
  if (payload.scheduledFire !== undefined) args.push(fireInfo(payload.scheduledFire));
  try {
    const output: unknown = await action.run(c, ...args);
    return runtime.encode(output, "output");
  } finally {
    // Before the reply: what the action changed is then part of a save request
    // that came before it, which is what `durability: "reply"` waits for.
    runtime.settle();
  }
}

/** `onBeforeActionResponse`: the user may replace an output. */
export function onBeforeActionResponse(services: ActorServices): Handler {
  const hook = services.definition.hooks.onBeforeActionResponse;
  return async ({ ctx, name, args, output }: ResponsePayload) => {
    const runtime = ActorRuntime.of(ctx, services);
    const c = new ActorContextImpl(runtime);
    const replaced: unknown = await hook?.(c, name, decodeArgs(services, args), runtime.decode(output));
    return runtime.encode(replaced, "output");
  };
}

function decodeArgs(services: ActorServices, bytes: Uint8Array): unknown[] {
  const args = services.codec.decode(bytes);
  if (args === undefined || args === null) return [];
  return Array.isArray(args) ? args : [args];
}

function validArgs(action: CompiledAction, args: unknown[]): unknown[] | Promise<unknown[]> {
  if (action.input === undefined) return args;
  const checked = validateSoon(action.input, args, "actor", `Input of action '${action.name}'`);
  return checked instanceof Promise ? checked.then((args) => listOf(action, args)) : listOf(action, checked);
}

function listOf(action: CompiledAction, checked: unknown): unknown[] {
  if (Array.isArray(checked)) return checked;
  throw new ActorError("config", "invalid_definition", `actionInputSchemas.${action.name} must yield an array`);
}

function fireInfo({ kind, id, name, scheduledAt, firedAt }: ScheduledFireInfo): ScheduledFireInfo {
  return { kind, id, scheduledAt, firedAt, ...(name != null && { name }) };
}
