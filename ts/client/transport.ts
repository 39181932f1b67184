/**
 * What a handle needs from below: the same operations over the network and inside
 * the process. One attempt each; trying again is the handle's business.
 */
import type { Encoding, MessageFormat, QueueSendReply } from "../wire/format";
import type { openLine } from "./connection/line";
import type { ClientSocket } from "./socket";
import type { KeyTarget, Target } from "./target";

export interface CallOptions {
  readonly skipReadyWait?: boolean | undefined;
  readonly params?: unknown;
  readonly signal?: AbortSignal | undefined;
}

export interface QueueCall {
  readonly name: string;
  readonly body: unknown;
  readonly wait: boolean;
  readonly timeout?: number | undefined;
}

export interface CreateCall {
  readonly name: string;
  readonly key: readonly string[];
  readonly input?: unknown;
  readonly region?: string | undefined;
  readonly poolName?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface SocketCall {
  readonly params?: unknown;
  readonly skipReadyWait?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Route inside the actor, with its query: `/connect` or `/websocket/…`. */
  readonly path: string;
  /** Encoding of a connection; absent for a raw socket. */
  readonly encoding?: Encoding | undefined;
}

export interface Transport {
  action(target: Target, name: string, args: unknown[], options: CallOptions): Promise<unknown>;
  send(target: Target, call: QueueCall, options: CallOptions): Promise<QueueSendReply>;
  /** Raw HTTP; the one call that is tried again down here, where the request is made. */
  fetch(target: Target, input: string | URL | Request, init: RequestInit, options: CallOptions): Promise<Response>;
  /** The id of the actor that a key leads to. */
  resolve(target: KeyTarget, signal?: AbortSignal): Promise<string>;
  create(call: CreateCall): Promise<string>;
  gatewayUrl(target: Target): Promise<string>;
  /** Starts to open a WebSocket, unless the call's signal has fired; resolves before it is open. */
  socket(target: Target, call: SocketCall): Promise<ClientSocket>;
  /** What connections speak through. */
  line(): Promise<typeof openLine>;
  /** How the messages of connections are written. */
  messages(): Promise<MessageFormat>;
  readonly encoding: Encoding;
}
