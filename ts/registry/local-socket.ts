/** A client's WebSocket inside the process, with the browser's interface. */
import { EventedSocket } from "../client/evented-socket";
import type { ClientSocket } from "../client/socket";
import { callNative } from "../errors/bridge";
import type { LocalSocketEvent, NativeLocalSocket, NativeRegistry } from "../native/registry-types";

const utf8 = new TextEncoder();

export class LocalSocket extends EventedSocket implements ClientSocket {
  readonly url: string;
  readonly protocol = "rivet";
  readonly extensions = "";
  readonly #native: NativeLocalSocket;

  constructor(registry: NativeRegistry, url: string, protocols: string) {
    super();
    this.url = url;
    this.#native = callNative(() => registry.localSocket(url, protocols, (event) => this.#receive(event)));
    // Open at once; whoever made it gets to listen first.
    queueMicrotask(() => {
      if (this.state === 0) this.opened();
    });
  }

  send(data: string | Uint8Array): void {
    if (this.state >= 2) return;
    if (typeof data === "string") this.#native.send(utf8.encode(data), false);
    else this.#native.send(data, true);
  }

  close(code = 1000, reason = ""): void {
    if (this.state >= 2) return;
    this.state = 2;
    this.#native.close(code, reason);
  }

  #receive(event: LocalSocketEvent): void {
    if (event.kind === "close") return this.closed(event.code, event.reason, event.code !== 1006);
    if (this.state === 0) this.opened();
    this.received(event.data);
  }
}
