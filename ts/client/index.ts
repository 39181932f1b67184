/** `greenroom/client`: the network client alone. Loads no native code. */
import { jsCodec } from "../codec/index";
import { hint } from "../define/check";
import { createClientWith } from "./create";
import { fromEnvironment } from "./environment";
import { partsWith } from "./parts";

/**
 * A client of a host that listens on HTTP; makes no request by itself.
 *
 * `createClient<typeof registry>("http://127.0.0.1:6420")`
 */
export const createClient = createClientWith({
  ...partsWith(jsCodec),
  get fallback() {
    return fromEnvironment();
  },
  hint,
});

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
