/** Opening WebSockets through the gateway, of connections and raw ones. */
import { invalidOption } from "../errors/raised";
import type { ClientConfig } from "./config";
import { jsonOf } from "./gateway";
import type { ClientSocket, WebSocketClass } from "./socket";
import type { SocketCall } from "./transport";

/** Starts to open one, unless the call is over; `otherwise` is what the platform lacks. */
export async function openSocket(
  config: Pick<ClientConfig, "WebSocket">,
  url: string,
  call: SocketCall,
  otherwise?: () => Promise<WebSocketClass>,
): Promise<ClientSocket> {
  const own = (globalThis as { WebSocket?: WebSocketClass }).WebSocket;
  const WebSocket = config.WebSocket ?? own ?? (await otherwise?.());
  if (!WebSocket) throw invalidOption("WebSocket", "is needed: this platform has none");
  call.signal?.throwIfAborted();
  return new WebSocket(url.replace(/^http/, "ws"), socketProtocols(call));
}

/** What a WebSocket says of itself: browsers let it say nothing else. */
export function socketProtocols({ encoding = "bare", skipReadyWait, params }: SocketCall): string[] {
  const protocols = ["", `_encoding.${encoding}`];
  if (skipReadyWait) protocols.push("_skip_ready_wait");
  if (params !== undefined) {
    // Parentheses are legal in a URL, not in a subprotocol.
    const json = encodeURIComponent(jsonOf(params)).replaceAll("(", "%28").replaceAll(")", "%29");
    protocols.push(`_conn_params.${json}`);
  }
  return protocols.map((protocol) => `rivet${protocol}`);
}
