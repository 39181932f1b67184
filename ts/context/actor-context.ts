/** The object that user code gets as `c`. */

import { validateNow } from "../define/schema";
import { callNative, fromNativePromise } from "../errors/bridge";
import type { NativeCancellationToken, SaveRequest } from "../native/types";
import { type CallSignal, linkedSignal } from "./abort";
import type { ConnImpl } from "./conns";
import type { ActorRuntime } from "./runtime";
import type { RequestSaveOptions, SaveStateOptions } from "./types";

/** What a context belongs to, besides its actor. */
export interface Invocation {
  /** Finds the connection; called at most once, and only if somebody asks. */
  readonly conn?: (() => ConnImpl) | undefined;
  /** Builds the Web request; called at most once. */
  readonly request?: (() => Request) | undefined;
  /** The token that is cancelled at the end of the call; made when asked for. */
  readonly cancelToken?: (() => NativeCancellationToken) | undefined;
}

const NONE: Invocation = {};

export class ActorContextImpl {
  readonly #runtime: ActorRuntime;
  readonly #invocation: Invocation;
  #conn: ConnImpl | undefined;
  #request: Request | undefined;
  #call: CallSignal | undefined;
  #ended = false;

  constructor(runtime: ActorRuntime, invocation: Invocation = NONE) {
    this.#runtime = runtime;
    this.#invocation = invocation;
  }

  get state(): unknown {
    return this.#runtime.state;
  }

  set state(value: unknown) {
    this.#runtime.state = value;
  }

  get vars(): unknown {
    return this.#runtime.vars;
  }

  set vars(value: unknown) {
    this.#runtime.vars = value;
  }

  get db() {
    return this.#runtime.database.client;
  }

  get kv() {
    return this.#runtime.kv;
  }

  get schedule() {
    return this.#runtime.schedule;
  }

  get cron() {
    return this.#runtime.cron;
  }

  get queue() {
    return this.#runtime.queue;
  }

  get actorId(): string {
    return this.#runtime.native.actorId();
  }

  get name(): string {
    return this.#runtime.native.name();
  }

  get key(): string[] {
    return this.#runtime.native.key().map(({ stringValue, numberValue }) => stringValue ?? String(numberValue));
  }

  get region(): string {
    return this.#runtime.native.region();
  }

  get conn(): ConnImpl | undefined {
    this.#conn ??= this.#invocation.conn?.();
    return this.#conn;
  }

  get conns(): ReadonlyMap<string, ConnImpl> {
    return this.#runtime.conns.all();
  }

  get log() {
    return this.#runtime.log;
  }

  get request(): Request | undefined {
    this.#request ??= this.#invocation.request?.();
    return this.#request;
  }

  get abortSignal(): AbortSignal {
    const { cancelToken } = this.#invocation;
    if (cancelToken === undefined) return this.#runtime.abortSignal;
    if (this.#call === undefined) {
      this.#call = linkedSignal(this.#runtime.aborts, cancelToken());
      if (this.#ended) this.#call.end();
    }
    return this.#call.signal;
  }

  /** Fires the signal of a call whose token is not cancelled at its end. */
  static endCall(c: ActorContextImpl): void {
    c.#ended = true;
    c.#call?.end();
  }

  get aborted(): boolean {
    return this.#runtime.native.aborted() || this.#invocation.cancelToken?.().aborted() === true;
  }

  get preventSleep(): boolean {
    return false;
  }

  setPreventSleep(): void {
    // Deprecated in RivetKit, where it does nothing either.
  }

  broadcast(name: string, ...args: unknown[]): void {
    const encoded = encodeEvent(this.#runtime, name, args);
    this.#runtime.emit(() => this.#runtime.native.broadcast(name, encoded));
  }

  requestSave(options: RequestSaveOptions = {}): void {
    this.#runtime.saves.request(saveRequest(options.immediate, options.maxWaitMs));
  }

  async saveState(options: SaveStateOptions = {}): Promise<void> {
    const request = saveRequest(options.immediate, options.maxWait);
    if (options.immediate !== true) return this.#runtime.saves.request(request);
    this.#runtime.stateTransactions.checkSave();
    await fromNativePromise(() => this.#runtime.saves.requestAndWait(request));
  }

  keepAwake<T>(promise: Promise<T>): Promise<T> {
    // Native code waits for a promise that cannot reject; the caller keeps the
    // original and, with it, the duty to handle its failure.
    const settle = () => this.#runtime.settle();
    callNative(() => this.#runtime.native.keepAwake(Promise.resolve(promise).then(settle, settle)));
    return promise;
  }

  waitUntil(promise: Promise<unknown>): void {
    const done = Promise.resolve(promise).catch((error) =>
      this.#runtime.log.warn({ msg: "waitUntil work failed", error }),
    );
    callNative(() => this.#runtime.native.waitUntil(done.then(() => this.#runtime.settle())));
  }

  sleep(): void {
    callNative(() => this.#runtime.native.sleep());
  }

  destroy(): void {
    callNative(() => this.#runtime.native.destroy());
  }

  client(): unknown {
    return this.#runtime.services.client();
  }
}

/** Validates an event against its declaration and encodes its arguments. */
export function encodeEvent(runtime: ActorRuntime, name: string, args: unknown[]): Uint8Array {
  const schema = runtime.services.definition.events.get(name)?.message;
  if (schema === undefined) return runtime.encode(args, `event ${name}`);
  // One argument is checked as itself, several as the tuple they are.
  const checked = validateNow(schema, args.length === 1 ? args[0] : args, "event", `Event '${name}'`);
  return runtime.encode(args.length === 1 ? [checked] : checked, `event ${name}`);
}

function saveRequest(immediate: boolean | undefined, maxWaitMs: number | undefined): SaveRequest {
  return {
    ...(immediate !== undefined && { immediate }),
    ...(maxWaitMs !== undefined && { maxWaitMs }),
  };
}
