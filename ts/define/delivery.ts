/**
 * Delivery of a queue's messages when their receivers may fail: leases, pauses and
 * dead letters. Opt-in: one of these options switches it on, for completable
 * receives of that queue. Defaults live in native code.
 */
import { isPlainObject } from "../common/plain";
import { invalidDefinition } from "../errors/raised";
import { rejectUnknown } from "./check";

/** Pause before a message that was given back is delivered again. Milliseconds. */
export interface QueueBackoff {
  /** After the first attempt. Default 1,000. */
  initial?: number;
  /** Growth with each further attempt, at least 1. Default 2. */
  factor?: number;
  /** Longest pause. Default 300,000. */
  max?: number;
}

export interface QueueDelivery {
  /** Deliveries before a message is given up. Default 5. */
  maxAttempts?: number;
  /** Milliseconds to complete a received message before it is delivered again. Default 30,000. */
  visibilityTimeout?: number;
  /** Pause of `message.retry()`; a number is a constant pause in milliseconds. */
  backoff?: QueueBackoff | number;
  /** Keep messages that were given up, to be listed, replayed or purged. Default true. */
  deadLetter?: boolean;
}

/** The form native code takes. */
export interface NativeQueuePolicy {
  name: string;
  maxAttempts?: number;
  visibilityTimeoutMs?: number;
  backoff?: { initialMs?: number; factor?: number; maxMs?: number };
  deadLetter?: boolean;
}

export const DELIVERY_OPTIONS = ["maxAttempts", "visibilityTimeout", "backoff", "deadLetter"] as const;

const BACKOFF_OPTIONS = ["initial", "factor", "max"] as const;
const MAX_U32 = 0xffff_ffff;

/** Checks the options of a queue; undefined if it has none of these. */
export function compileDelivery(option: string, queue: Record<string, unknown>): QueueDelivery | undefined {
  if (DELIVERY_OPTIONS.every((name) => queue[name] === undefined)) return undefined;
  const { maxAttempts, visibilityTimeout, backoff, deadLetter } = queue;
  checkNumber(`${option}.maxAttempts`, maxAttempts, 1);
  if (maxAttempts !== undefined && !Number.isInteger(maxAttempts)) {
    throw invalidDefinition(`${option}.maxAttempts`, "must be a whole number");
  }
  checkNumber(`${option}.visibilityTimeout`, visibilityTimeout, 1);
  if (deadLetter !== undefined && typeof deadLetter !== "boolean") {
    throw invalidDefinition(`${option}.deadLetter`, "must be a boolean");
  }
  checkBackoff(`${option}.backoff`, backoff);
  return { maxAttempts, visibilityTimeout, backoff, deadLetter } as QueueDelivery;
}

function checkBackoff(option: string, backoff: unknown): void {
  if (typeof backoff !== "object" || backoff === null) return checkNumber(option, backoff, 0);
  if (!isPlainObject(backoff)) throw invalidDefinition(option, "must be a number or an object");
  rejectUnknown(backoff, BACKOFF_OPTIONS, `${option}.`);
  const { initial, factor, max } = backoff as Record<string, unknown>;
  checkNumber(`${option}.initial`, initial, 0);
  checkNumber(`${option}.factor`, factor, 1);
  checkNumber(`${option}.max`, max, 0);
}

function checkNumber(option: string, value: unknown, least: number): void {
  if (value === undefined) return;
  if (typeof value !== "number" || !(value >= least) || value > MAX_U32) {
    throw invalidDefinition(option, `must be a number from ${least} to ${MAX_U32}`);
  }
}

export function nativePolicy(name: string, delivery: QueueDelivery): NativeQueuePolicy {
  const { maxAttempts, visibilityTimeout, backoff, deadLetter } = delivery;
  return {
    name,
    ...(maxAttempts !== undefined && { maxAttempts }),
    ...(visibilityTimeout !== undefined && { visibilityTimeoutMs: visibilityTimeout }),
    ...(backoff !== undefined && { backoff: nativeBackoff(backoff) }),
    ...(deadLetter !== undefined && { deadLetter }),
  };
}

function nativeBackoff(backoff: QueueBackoff | number): NonNullable<NativeQueuePolicy["backoff"]> {
  if (typeof backoff === "number") return { initialMs: backoff, factor: 1, maxMs: backoff };
  const { initial, factor, max } = backoff;
  return {
    ...(initial !== undefined && { initialMs: initial }),
    ...(factor !== undefined && { factor }),
    ...(max !== undefined && { maxMs: max }),
  };
}
