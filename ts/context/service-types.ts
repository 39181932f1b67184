/** Types of the services on `c`: schedule, cron, kv and log. */

export interface ActorSchedule {
  /** Calls an action after so many milliseconds; returns the schedule's id. */
  after(durationMs: number, action: string, ...args: unknown[]): Promise<string>;
  /** Calls an action at a time (ms since epoch); the past means now. */
  at(timestampMs: number, action: string, ...args: unknown[]): Promise<string>;
  /** False if it has fired already or never existed. */
  cancel(id: string): Promise<boolean>;
  get(id: string): Promise<ScheduledEventInfo | undefined>;
  list(): Promise<ScheduledEventInfo[]>;
}

export interface ScheduledEventInfo {
  id: string;
  action: string;
  args: unknown[];
  /** Milliseconds since epoch. */
  runAt: number;
}

/** Appended to the arguments of an action that a schedule called. */
export interface ScheduledFireInfo {
  kind: "at" | "cron" | "every";
  id: string;
  name?: string;
  scheduledAt: number;
  firedAt: number;
}

export interface ActorCronSetOptions {
  name: string;
  /** Five fields: minute, hour, day of month, month, day of week. */
  expression: string;
  action: string;
  args?: unknown[];
  /** IANA name. Default `UTC`. */
  timezone?: string;
  /** Fires remembered. Default 100, at most 1,000; 0 keeps none. */
  maxHistory?: number;
}

export interface ActorCronEveryOptions {
  name: string;
  /** Milliseconds, at least 5,000. */
  interval: number;
  action: string;
  args?: unknown[];
  /** Fires remembered. Default 100, at most 1,000; 0 keeps none. */
  maxHistory?: number;
}

export interface ActorCron {
  /** Creates the job or replaces the one of that name. */
  set(options: ActorCronSetOptions): Promise<void>;
  every(options: ActorCronEveryOptions): Promise<void>;
  get(name: string): Promise<CronJobInfo | undefined>;
  list(): Promise<CronJobInfo[]>;
  /** Deletes the job with its history; false if there is none. */
  delete(name: string): Promise<boolean>;
  /** Newest first. `limit` defaults to 20. */
  history(name: string, options?: { limit?: number }): Promise<CronFire[]>;
}

export type CronJobInfo = {
  name: string;
  action: string;
  args: unknown[];
  nextRunAt: number;
  lastRunAt?: number;
  maxHistory: number;
} & ({ kind: "cron"; expression: string; timezone: string } | { kind: "every"; interval: number });

export interface CronFire {
  action: string;
  scheduledAt: number;
  firedAt: number;
  finishedAt?: number;
  result: "running" | "ok" | "error" | "skipped";
  error?: { group: string; code: string; message: string; metadata?: unknown };
}

export type KvValueType = "text" | "arrayBuffer" | "binary";
export type KvKeyType = "text" | "binary";
export type KvValue<T> = T extends "text" ? string : T extends "arrayBuffer" ? ArrayBuffer : Uint8Array;
export type KvKey<K> = K extends "text" ? string : Uint8Array;

export interface KvListOptions<T extends KvValueType, K extends KvKeyType> {
  type?: T;
  keyType?: K;
  reverse?: boolean;
  limit?: number;
}

type Bytes = Uint8Array | string;

/** @deprecated Kept for ported code; use `c.db` or state. */
export interface ActorKv {
  get<T extends KvValueType = "text">(key: Bytes, options?: { type?: T }): Promise<KvValue<T> | null>;
  put(key: Bytes, value: Bytes | ArrayBuffer, options?: { type?: KvValueType }): Promise<void>;
  delete(key: Bytes): Promise<void>;
  /** Raw keys, without the prefix the single calls add. Likewise the next two. */
  batchPut(entries: [Uint8Array, Uint8Array][]): Promise<void>;
  batchGet(keys: Uint8Array[]): Promise<(Uint8Array | null)[]>;
  batchDelete(keys: Uint8Array[]): Promise<void>;
  /** From `start` up to, not including, `end`. */
  deleteRange(start: Bytes, end: Bytes): Promise<void>;
  list<T extends KvValueType = "text", K extends KvKeyType = "text">(
    prefix: Bytes,
    options?: KvListOptions<T, K>,
  ): Promise<[KvKey<K>, KvValue<T>][]>;
  listPrefix<T extends KvValueType = "text", K extends KvKeyType = "text">(
    prefix: Bytes,
    options?: KvListOptions<T, K>,
  ): Promise<[KvKey<K>, KvValue<T>][]>;
  listRange<T extends KvValueType = "text", K extends KvKeyType = "text">(
    start: Bytes,
    end: Bytes,
    options?: KvListOptions<T, K>,
  ): Promise<[KvKey<K>, KvValue<T>][]>;
}

export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";

/** Writes one entry: fields with an optional `msg`, or a text. */
export type LogMethod = (entry: Record<string, unknown> | string, message?: string) => void;

/** The part of pino's interface that actors use. */
export interface ActorLogger {
  level: string;
  trace: LogMethod;
  debug: LogMethod;
  info: LogMethod;
  warn: LogMethod;
  error: LogMethod;
  fatal: LogMethod;
  /** A logger that adds these fields to every entry. */
  child(fields: Record<string, unknown>): ActorLogger;
}
