/**
 * What a handle needs from below: the same five operations over HTTP and inside
 * the process. One attempt each; trying again is the handle's business.
 */
import type { QueueSendReply } from "../wire/format";
import type { Target } from "./target";
import type { ActorGatewayOptions } from "./types";

export interface CallOptions extends ActorGatewayOptions {
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

export interface Transport {
  action(target: Target, name: string, args: unknown[], options: CallOptions): Promise<unknown>;
  send(target: Target, call: QueueCall, options: CallOptions): Promise<QueueSendReply>;
  fetch(target: Target, request: Request, options: CallOptions): Promise<Response>;
  resolve(target: Target, signal?: AbortSignal): Promise<string>;
  create(call: CreateCall): Promise<string>;
  gatewayUrl(target: Target): Promise<string>;
}
