/** The listening half of the browser's WebSocket interface. */
import type { ClientSocket } from "./socket";

export class EventedSocket extends EventTarget {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static readonly CLOSING = 2;
  static readonly CLOSED = 3;
  readonly CONNECTING = 0;
  readonly OPEN = 1;
  readonly CLOSING = 2;
  readonly CLOSED = 3;
  binaryType = "arraybuffer";
  onopen: ClientSocket["onopen"] = null;
  onmessage: ClientSocket["onmessage"] = null;
  onclose: ClientSocket["onclose"] = null;
  onerror: ClientSocket["onerror"] = null;
  protected state: 0 | 1 | 2 | 3 = 0;

  get readyState(): number {
    return this.state;
  }

  protected opened(): void {
    this.state = 1;
    this.#emit(new Event("open"));
  }

  /** Binary data arrives as an ArrayBuffer. */
  protected received(data: string | Uint8Array): void {
    const content = typeof data === "string" ? data : Uint8Array.from(data).buffer;
    this.#emit(new MessageEvent("message", { data: content }));
  }

  protected failed(message: string, error: unknown): void {
    this.#emit(Object.assign(new Event("error"), { message, error }));
  }

  /** The last event; later calls do nothing. */
  protected closed(code: number, reason: string, wasClean: boolean): void {
    if (this.state === 3) return;
    this.state = 3;
    this.#emit(Object.assign(new Event("close"), { code, reason, wasClean }));
  }

  /** `on…` is one listener among the others. */
  #emit(event: Event): void {
    const listener = this[`on${event.type}` as "onopen"];
    listener?.call(this, event as never);
    this.dispatchEvent(event);
  }
}
