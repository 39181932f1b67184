/**
 * The `options` of an actor: their types, their check, and their native form.
 *
 * Defaults live in native code; an option that is not given is not passed on.
 */
import { invalidDefinition } from "../errors/raised";
import type { JsActorConfig } from "../native/types";
import { rejectUnknown } from "./check";

/** Times are milliseconds. */
export interface ActorOptions {
  /** Display name. */
  name?: string;
  /** Display icon. */
  icon?: string;
  /** How long after a change the state is saved at the latest. Default 1,000. */
  stateSaveInterval?: number;
  /** `reply`: answers leave only when the state they rely on is on disk. Default `interval`. */
  durability?: "interval" | "reply";
  /** Idle time before the actor sleeps. Default 30,000. */
  sleepTimeout?: number;
  /** Never sleep when idle. Default false. */
  noSleep?: boolean;
  /** Time for hooks and open work when stopping. Default 15,000. */
  sleepGracePeriod?: number;
  /** Open hibernatable sockets do not keep the actor awake. Default true. */
  hibernateWhenIdle?: boolean;
  /** Raw WebSockets survive sleep. Default false. */
  canHibernateWebSocket?: boolean | ((request: Request) => boolean);
  /** Default 60,000. */
  actionTimeout?: number;
  /** Until the head of a raw HTTP response. Default: `actionTimeout`. */
  onRequestTimeout?: number;
  /** Default 5,000, as for the hooks that follow unless said otherwise. */
  createStateTimeout?: number;
  onCreateTimeout?: number;
  createVarsTimeout?: number;
  createConnStateTimeout?: number;
  onBeforeConnectTimeout?: number;
  onConnectTimeout?: number;
  onBeforeActorStartTimeout?: number;
  /** Default 30,000. */
  onMigrateTimeout?: number;
  /** Default 30,000. */
  onWakeTimeout?: number;
  /** Default 2,500. */
  connectionLivenessTimeout?: number;
  /** Default 5,000. */
  connectionLivenessInterval?: number;
  /** Messages in the queue. Default 1,000. */
  maxQueueSize?: number;
  /** Bytes of one queue message. Default 65,536. */
  maxQueueMessageSize?: number;
  /** Pending schedules and cron jobs. Default 1,000. */
  maxSchedules?: number;
  /** Bytes of one incoming message. Default: the registry's. */
  maxIncomingMessageSize?: number;
  /** Bytes of one outgoing message. Default: the registry's. */
  maxOutgoingMessageSize?: number;
  /** Experimental Unix socket per generation. Default false. */
  enableActorRuntimeSocket?: boolean;
  /** @deprecated Without effect; `sleepGracePeriod` covers it. */
  onDestroyTimeout?: number;
  /** @deprecated Without effect; `sleepGracePeriod` covers it. */
  waitUntilTimeout?: number;
  /** Accepted for ported code; without effect. */
  preloadMaxWorkflowBytes?: number;
  /** Accepted for ported code; without effect. */
  preloadMaxConnectionsBytes?: number;
}

/** Option → native field. Everything here is a count of milliseconds. */
const TIMES = {
  stateSaveInterval: "stateSaveIntervalMs",
  sleepTimeout: "sleepTimeoutMs",
  sleepGracePeriod: "sleepGracePeriodMs",
  actionTimeout: "actionTimeoutMs",
  onRequestTimeout: "onRequestTimeoutMs",
  createStateTimeout: "createStateTimeoutMs",
  onCreateTimeout: "onCreateTimeoutMs",
  createVarsTimeout: "createVarsTimeoutMs",
  createConnStateTimeout: "createConnStateTimeoutMs",
  onBeforeConnectTimeout: "onBeforeConnectTimeoutMs",
  onConnectTimeout: "onConnectTimeoutMs",
  onBeforeActorStartTimeout: "onBeforeActorStartTimeoutMs",
  onMigrateTimeout: "onMigrateTimeoutMs",
  onWakeTimeout: "onWakeTimeoutMs",
  connectionLivenessTimeout: "connectionLivenessTimeoutMs",
  connectionLivenessInterval: "connectionLivenessIntervalMs",
} as const;

const COUNTS = [
  "maxQueueSize",
  "maxQueueMessageSize",
  "maxSchedules",
  "maxIncomingMessageSize",
  "maxOutgoingMessageSize",
] as const;
const FLAGS = ["noSleep", "hibernateWhenIdle", "enableActorRuntimeSocket"] as const;
const TEXTS = ["name", "icon"] as const;
const WITHOUT_EFFECT = [
  "onDestroyTimeout",
  "waitUntilTimeout",
  "preloadMaxWorkflowBytes",
  "preloadMaxConnectionsBytes",
] as const;
const DURABILITIES: readonly unknown[] = ["interval", "reply"];
const MAX_U32 = 0xffff_ffff;

const KNOWN: readonly string[] = [
  ...Object.keys(TIMES),
  ...COUNTS,
  ...FLAGS,
  ...TEXTS,
  ...WITHOUT_EFFECT,
  "durability",
  "canHibernateWebSocket",
];

/** Throws for an option that is unknown or has an impossible value. */
export function checkOptions(options: unknown): asserts options is ActorOptions {
  if (typeof options !== "object" || options === null) throw invalidDefinition("options", "must be an object");
  rejectUnknown(options, KNOWN, "options.");
  const values = options as Record<string, unknown>;
  for (const name of [...Object.keys(TIMES), ...COUNTS, ...WITHOUT_EFFECT]) checkNumber(name, values[name]);
  for (const name of FLAGS) checkType(name, values[name], "boolean");
  for (const name of TEXTS) checkType(name, values[name], "string");
  const { durability, canHibernateWebSocket } = values;
  if (durability !== undefined && !DURABILITIES.includes(durability)) {
    throw invalidDefinition("options.durability", 'must be "interval" or "reply"');
  }
  if (typeof canHibernateWebSocket !== "function") {
    checkType("canHibernateWebSocket", canHibernateWebSocket, "boolean");
  }
}

/** The options as native code takes them. */
export function nativeOptions(options: ActorOptions): JsActorConfig {
  const config: Record<string, unknown> = {};
  for (const [option, field] of Object.entries(TIMES)) {
    const value = options[option as keyof typeof TIMES];
    if (value !== undefined) config[field] = Math.trunc(value);
  }
  for (const name of [...COUNTS, ...FLAGS, ...TEXTS, "durability" as const]) {
    if (options[name] !== undefined) config[name] = options[name];
  }
  // The function form needs the request of each socket, which the decision on
  // hibernation does not see; as in RivetKit it counts as "not given".
  if (typeof options.canHibernateWebSocket === "boolean") config.canHibernateWebsocket = options.canHibernateWebSocket;
  return config;
}

function checkNumber(name: string, value: unknown): void {
  if (value === undefined) return;
  if (typeof value !== "number" || !(value >= 0) || value > MAX_U32) {
    throw invalidDefinition(`options.${name}`, `must be a number from 0 to ${MAX_U32}`);
  }
}

function checkType(name: string, value: unknown, type: "boolean" | "string"): void {
  if (value !== undefined && typeof value !== type) throw invalidDefinition(`options.${name}`, `must be a ${type}`);
}
