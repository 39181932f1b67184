/** WebSockets as the client uses them: the browser's interface, from wherever. */
import { notConfigured } from "../errors/raised";

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

/** The platform's WebSocket, or on a Node that has none, our own. */
export async function platformWebSocket(): Promise<WebSocketClass> {
  const own = (globalThis as { WebSocket?: WebSocketClass }).WebSocket;
  if (own !== undefined) return own;
  const { NodeSocket } = await import("./node-socket.js");
  // Bundles for browsers replace the module by nothing.
  if (NodeSocket === undefined)
    throw notConfigured("WebSocket", "This platform has none; pass `WebSocket` to createClient.");
  return NodeSocket;
}
