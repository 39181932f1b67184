/** `greenroom/client`: the network client alone. Loads no native code. */
import { jsCodec } from "../codec/index";
import { clientOver } from "./client";
import { type ClientOptions, clientConfig } from "./config";
import { HttpTransport } from "./http-transport";
import type { Client } from "./types";

/**
 * A client of a host that listens on HTTP; makes no request by itself.
 *
 * `createClient<typeof registry>("http://127.0.0.1:6420")`
 */
export function createClient<R>(endpoint?: string | ClientOptions, options: ClientOptions = {}): Client<R> {
  const given = typeof endpoint === "string" ? { ...options, endpoint } : { ...endpoint, ...options };
  const config = clientConfig(given);
  const { poolName, skipReadyWait } = config;
  return clientOver<R>(new HttpTransport(config, jsCodec), { poolName, skipReadyWait });
}

export {
  ActorError,
  type ActorErrorOptions,
  type ActorSpecifier,
  UserError,
  type UserErrorOptions,
} from "../errors/actor-error";
export type { Encoding } from "../wire/format";
export type { ClientOptions } from "./config";
export type {
  ActorAccessor,
  ActorActionFunction,
  ActorActionOptions,
  ActorActions,
  ActorConn,
  ActorConnStatus,
  ActorEventSubscribe,
  ActorGatewayOptions,
  ActorHandle,
  ActorQueueSend,
  ActorsOf,
  Client,
  ClientBase,
  CreateOptions,
  EventUnsubscribe,
  GetOrCreateOptions,
  QueryOptions,
  QueueSendNoWaitOptions,
  QueueSendResult,
  QueueSendWaitOptions,
  RegistryLike,
} from "./types";
