/**
 * The actor's end of a raw WebSocket with the browser's interface.
 *
 * Messages that arrive before anybody listens are kept and delivered when the
 * first listener comes, up to a bound; beyond it the socket is closed, for a
 * handler that never listens must not collect a client's input for ever.
 */
import { toRaw } from "../common/raw";
import type { NativeSocketEvent, NativeWebSocket } from "../native/request-types";
import type { ActorLogger } from "./service-types";
import type { SocketEventMap, SocketMessageEvent, UniversalWebSocket } from "./websocket-types";

type Type = keyof SocketEventMap;
type AnyListener = (event: never) => unknown;

const EARLY_MESSAGES_MAX = 256;
const utf8 = new TextEncoder();

export class ActorSocket implements UniversalWebSocket {
  readonly CONNECTING = 0;
  readonly OPEN = 1;
  readonly CLOSING = 2;
  readonly CLOSED = 3;
  readonly url: string;
  readonly protocol = "";
  readonly extensions = "";
  readonly bufferedAmount = 0;
  readonly binaryType = "arraybuffer";
  readyState: 0 | 1 | 2 | 3 = 1;
  onopen: UniversalWebSocket["onopen"] = null;
  onclose: UniversalWebSocket["onclose"] = null;
  onerror: UniversalWebSocket["onerror"] = null;
  readonly #native: NativeWebSocket;
  readonly #log: ActorLogger;
  readonly #track: (work: Promise<unknown>) => Promise<void>;
  readonly #listeners = new Map<Type, Set<AnyListener>>();
  #onmessage: UniversalWebSocket["onmessage"] = null;
  #early: SocketMessageEvent[] | undefined = [];

  /** `track` is given what asynchronous listeners do, and yields it. */
  constructor(
    native: NativeWebSocket,
    url: string,
    log: ActorLogger,
    track: (work: Promise<unknown>) => Promise<void>,
  ) {
    this.#native = native;
    this.#log = log;
    this.#track = track;
    this.url = url;
    native.setEventCallback((event) => this.#receive(event));
  }

  get onmessage(): UniversalWebSocket["onmessage"] {
    return this.#onmessage;
  }

  set onmessage(listener: UniversalWebSocket["onmessage"]) {
    this.#onmessage = listener;
    if (listener !== null) this.#deliverEarly();
  }

  send(data: string | ArrayBuffer | ArrayBufferView): void {
    if (this.readyState !== this.OPEN) return;
    const raw = toRaw(data);
    if (typeof raw === "string") this.#native.send(utf8.encode(raw), false);
    else if (raw instanceof ArrayBuffer) this.#native.send(new Uint8Array(raw), true);
    else this.#native.send(new Uint8Array(raw.buffer, raw.byteOffset, raw.byteLength), true);
  }

  close(code?: number, reason?: string): void {
    if (this.readyState >= this.CLOSING) return;
    this.readyState = 2;
    this.#native.close(code, reason);
  }

  addEventListener<T extends Type>(type: T, listener: (event: SocketEventMap[T]) => void | Promise<void>): void {
    const listeners = this.#listeners.get(type) ?? new Set();
    this.#listeners.set(type, listeners.add(listener as AnyListener));
    if (type === "message") this.#deliverEarly();
  }

  removeEventListener<T extends Type>(type: T, listener: (event: SocketEventMap[T]) => void | Promise<void>): void {
    this.#listeners.get(type)?.delete(listener as AnyListener);
  }

  #receive(event: NativeSocketEvent): void {
    if (event.kind === "message") return this.#message(event);
    this.readyState = 3;
    const { code, reason, wasClean } = event;
    this.#dispatch("close", { type: "close", code, reason, wasClean, target: this });
  }

  #message({ data, messageIndex }: NativeSocketEvent & { kind: "message" }): void {
    const event: SocketMessageEvent = {
      type: "message",
      data: typeof data === "string" ? data : new Uint8Array(data).buffer,
      target: this,
      ...(messageIndex != null && { rivetMessageIndex: messageIndex }),
    };
    if (this.#early === undefined) return this.#dispatch("message", event);
    this.#early.push(event);
    if (this.#early.length > EARLY_MESSAGES_MAX) this.close(1011, "nobody listens for messages");
  }

  #deliverEarly(): void {
    const early = this.#early;
    if (early === undefined) return;
    this.#early = undefined;
    for (const event of early) this.#dispatch("message", event);
  }

  #dispatch<T extends Type>(type: T, event: SocketEventMap[T]): void {
    const own = this[`on${type}`] as AnyListener | null;
    for (const listener of own === null ? [] : [own]) this.#call(listener, event);
    // A copy: a listener may remove itself.
    for (const listener of [...(this.#listeners.get(type) ?? [])]) this.#call(listener, event);
  }

  /** One listener's failure concerns neither the others nor the process. */
  #call(listener: AnyListener, event: unknown): void {
    const report = (error: unknown) => this.#log.error({ msg: "WebSocket listener failed", error });
    try {
      const result = listener.call(this, event as never);
      if (result instanceof Promise) this.#track(result).catch(report);
    } catch (error) {
      report(error);
    }
  }
}
