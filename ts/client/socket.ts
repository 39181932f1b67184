/** WebSockets as the client uses them: the browser's interface, from wherever. */

/** The part of the browser's WebSocket that the client needs. */
export interface ClientSocket {
  binaryType: string;
  readonly readyState: number;
  send(data: string | Uint8Array): void;
  close(code?: number, reason?: string): void;
  onopen: ((event: unknown) => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: ((event: { code: number; reason: string }) => void) | null;
  onerror: ((event: unknown) => void) | null;
}

export type WebSocketClass = new (url: string, protocols: string[]) => ClientSocket;
