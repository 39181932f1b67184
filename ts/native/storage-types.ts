/** Native queue, schedule, key-value store and database (see `types.ts`). */
import type { NativeCancellationToken, StateDelta } from "./types";

export interface NativeQueueMessage {
  id(): bigint;
  name(): string;
  body(): Uint8Array;
  createdAt(): number;
  isCompletable(): boolean;
  complete(response?: Uint8Array): Promise<void>;
  attempt(): number | null;
  retry(afterMs?: number, reason?: string): Promise<void>;
  fail(reason: string): Promise<void>;
}

export interface NativeQueueStats {
  depth: number;
  inFlight: number;
  delayed: number;
  dead: number;
  oldestAgeMs?: number;
}

export interface NativeDeadLetter {
  id: bigint;
  name: string;
  body: Uint8Array;
  createdAt: number;
  attempts: number;
  reason: string;
  diedAt: number;
}

export interface NativeLetterChoice {
  name?: string;
  ids?: bigint[];
}

export interface NativeReceive {
  names?: string[];
  count?: number;
  timeoutMs?: number;
  completable?: boolean;
}

export interface NativeQueue {
  send(name: string, body: Uint8Array): Promise<NativeQueueMessage>;
  nextBatch(options?: NativeReceive, signal?: NativeCancellationToken): Promise<NativeQueueMessage[]>;
  waitForNames(
    names: string[],
    options?: { timeoutMs?: number; completable?: boolean },
    signal?: NativeCancellationToken,
  ): Promise<NativeQueueMessage>;
  waitForNamesAvailable(
    names: string[],
    options?: { timeoutMs?: number },
    signal?: NativeCancellationToken,
  ): Promise<void>;
  completePersisted(id: bigint, name: string, response?: Uint8Array): Promise<boolean>;
  enqueueAndWait(
    name: string,
    body: Uint8Array,
    options?: { timeoutMs?: number },
    signal?: NativeCancellationToken,
  ): Promise<Uint8Array | null>;
  tryNextBatch(options?: NativeReceive): NativeQueueMessage[];
  stats(name?: string): Promise<NativeQueueStats>;
  deadLetters(options: { name?: string; after?: bigint; limit?: number }): Promise<NativeDeadLetter[]>;
  replayDeadLetters(choice: NativeLetterChoice): Promise<number>;
  purgeDeadLetters(choice: NativeLetterChoice): Promise<number>;
}

export interface NativeScheduled {
  id: string;
  action: string;
  args: Uint8Array;
  runAt: number;
}

export interface NativeCronJob {
  name: string;
  kind: string;
  action: string;
  args: Uint8Array;
  nextRunAt: number;
  lastRunAt?: number;
  expression?: string;
  timezone?: string;
  intervalMs?: number;
  maxHistory: number;
}

export interface NativeCronFire {
  action: string;
  scheduledAt: number;
  firedAt: number;
  finishedAt?: number;
  result: string;
  error?: { group: string; code: string; message: string; metadata?: unknown };
}

export interface NativeSchedule {
  after(durationMs: number, action: string, args: Uint8Array): Promise<string>;
  at(timestampMs: number, action: string, args: Uint8Array): Promise<string>;
  cancel(id: string): Promise<boolean>;
  get(id: string): Promise<NativeScheduled | null>;
  list(): Promise<NativeScheduled[]>;
  cronSet(
    name: string,
    expression: string,
    timezone: string | undefined,
    action: string,
    args: Uint8Array,
    maxHistory?: number,
  ): Promise<void>;
  cronEvery(name: string, intervalMs: number, action: string, args: Uint8Array, maxHistory?: number): Promise<void>;
  cronGet(name: string): Promise<NativeCronJob | null>;
  cronList(): Promise<NativeCronJob[]>;
  cronDelete(name: string): Promise<boolean>;
  cronHistory(name: string, limit?: number): Promise<NativeCronFire[]>;
}

export interface NativeKvList {
  reverse?: boolean;
  limit?: number;
}

export interface NativeKvEntry {
  key: Uint8Array;
  value: Uint8Array;
}

export interface NativeKv {
  get(key: Uint8Array): Promise<Uint8Array | null>;
  put(key: Uint8Array, value: Uint8Array): Promise<void>;
  delete(key: Uint8Array): Promise<void>;
  deleteRange(start: Uint8Array, end: Uint8Array): Promise<void>;
  listPrefix(prefix: Uint8Array, options?: NativeKvList): Promise<NativeKvEntry[]>;
  listRange(start: Uint8Array, end: Uint8Array, options?: NativeKvList): Promise<NativeKvEntry[]>;
  batchGet(keys: Uint8Array[]): Promise<(Uint8Array | null)[]>;
  batchPut(entries: NativeKvEntry[]): Promise<void>;
  batchDelete(keys: Uint8Array[]): Promise<void>;
}

/** What SQLite stores. Integers beyond 53 bits are bigints. */
export type NativeSqlValue = null | number | bigint | string | Uint8Array;

/** All cells of the rows in one array, row after row. */
export interface NativeSqlResult {
  /** Frozen; results of the same statement may share it. */
  columns: readonly string[];
  values: NativeSqlValue[];
  changes: number;
  lastInsertRowId: number | bigint | null;
}

/** Statements with their values, flat. */
export interface NativeSqlBatch {
  texts: string[];
  /** Bytes of a `Uint32Array`: of each statement the place of its text and the number of its values. */
  shape: Uint8Array;
  /** Of all statements, one after the other. */
  values: NativeSqlValue[];
}

/** What the statements of a batch gave, flat. */
export interface NativeSqlBatchResults {
  columns: (readonly string[])[];
  /**
   * Bytes of a `Float64Array`: of each statement the place of its columns, the number of
   * its cells, its changes, and the last rowid. That is NaN if there is none, and
   * infinite if it stands before the cells.
   */
  facts: Uint8Array;
  cells: NativeSqlValue[];
}

export interface NativeSqlPage {
  values: NativeSqlValue[];
  done: boolean;
}

export interface NativeSqlCursor {
  columns(): string[];
  nextPage(maxRows: number): Promise<NativeSqlPage>;
  close(): void;
}

/** Statements of a database or of a transaction, in exact values. */
export interface NativeStatements {
  executeValues(
    sql: string,
    params?: NativeSqlValue[],
    timeoutMs?: number,
    signal?: NativeCancellationToken,
  ): Promise<NativeSqlResult>;
  scriptValues(sql: string, timeoutMs?: number, signal?: NativeCancellationToken): Promise<NativeSqlResult>;
  batchValues(
    batch: NativeSqlBatch,
    timeoutMs?: number,
    signal?: NativeCancellationToken,
  ): Promise<NativeSqlBatchResults>;
  repeatValues(
    runs: { sql: string; count: number; values: NativeSqlValue[] },
    timeoutMs?: number,
    signal?: NativeCancellationToken,
  ): Promise<NativeSqlResult>;
  openCursor(
    sql: string,
    params?: NativeSqlValue[],
    timeoutMs?: number,
    signal?: NativeCancellationToken,
  ): Promise<NativeSqlCursor>;
}

export interface NativeDatabase extends NativeStatements {
  beginTransaction(timeoutMs?: number, name?: string): Promise<NativeTransaction>;
  metrics(): Record<string, number> | null;
  takeLastKvError(): string | null;
  close(): Promise<void>;
}

export interface NativeTransaction extends NativeStatements {
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

/** State and rows in one commit. */
export interface NativeStateTransaction extends Pick<NativeStatements, "executeValues"> {
  commit(delta: StateDelta): Promise<void>;
  rollback(): Promise<void>;
}
