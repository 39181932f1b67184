/** The actor's side of a raw WebSocket. */

export interface SocketMessageEvent {
  readonly type: "message";
  readonly data: string | ArrayBuffer;
  readonly target: UniversalWebSocket;
  /** Position of the message on a hibernatable socket. */
  readonly rivetMessageIndex?: number;
}

export interface SocketCloseEvent {
  readonly type: "close";
  readonly code: number;
  readonly reason: string;
  readonly wasClean: boolean;
  readonly target: UniversalWebSocket;
}

export interface SocketEvent {
  readonly type: "open" | "error";
  readonly target: UniversalWebSocket;
}

export interface SocketEventMap {
  open: SocketEvent;
  message: SocketMessageEvent;
  close: SocketCloseEvent;
  error: SocketEvent;
}

type Listener<T> = ((event: T) => void | Promise<void>) | null;

/** The browser's WebSocket interface, as far as both ends of a socket share it. */
export interface UniversalWebSocket {
  readonly CONNECTING: 0;
  readonly OPEN: 1;
  readonly CLOSING: 2;
  readonly CLOSED: 3;
  readonly readyState: 0 | 1 | 2 | 3;
  readonly url: string;
  readonly protocol: string;
  readonly extensions: string;
  readonly bufferedAmount: number;
  binaryType: "arraybuffer";
  send(data: string | ArrayBuffer | ArrayBufferView): void;
  close(code?: number, reason?: string): void;
  addEventListener<T extends keyof SocketEventMap>(type: T, listener: NonNullable<Listener<SocketEventMap[T]>>): void;
  removeEventListener<T extends keyof SocketEventMap>(
    type: T,
    listener: NonNullable<Listener<SocketEventMap[T]>>,
  ): void;
  onopen: Listener<SocketEvent>;
  onmessage: Listener<SocketMessageEvent>;
  onclose: Listener<SocketCloseEvent>;
  onerror: Listener<SocketEvent>;
}
