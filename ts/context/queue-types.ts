/** Types of `c.queue`. */
import type { IsLeased, QueueAnswer, QueueBody, QueueName } from "../define/infer";
import type { QueueSchemaConfig } from "../define/schema";

export interface QueueMessage<N extends string = string, B = unknown> {
  readonly id: bigint;
  readonly name: N;
  readonly body: B;
  /** Milliseconds since epoch. */
  readonly createdAt: number;
}

/** A received message that stays in the queue until it is completed. */
export interface CompletableQueueMessage<N extends string = string, B = unknown, A = unknown>
  extends QueueMessage<N, B> {
  /** Removes the message and answers a sender that waits. */
  complete(...answer: undefined extends A ? [answer?: A] : [answer: A]): Promise<void>;
}

/**
 * A completable message of a queue with delivery options (`maxAttempts` and the
 * like): nobody else receives it while its lease lasts.
 */
export interface LeasedQueueMessage<N extends string = string, B = unknown, A = unknown>
  extends CompletableQueueMessage<N, B, A> {
  /** Number of this delivery, from 1. */
  readonly attempt: number;
  /**
   * Gives the message back, to be delivered again after so many milliseconds
   * (default: the queue's backoff). After the last attempt it is given up.
   */
  retry(options?: { after?: number; reason?: string }): Promise<void>;
  /** Gives the message up, whatever attempts are left. */
  fail(reason: string): Promise<void>;
}

/** How many messages are where. */
export interface QueueStats {
  /** Messages in the queue, those in flight and delayed included. */
  depth: number;
  /** Held by a receiver until completed or timed out. */
  inFlight: number;
  /** Waiting for their next attempt. */
  delayed: number;
  /** Given up and kept. */
  dead: number;
  /** Milliseconds since the oldest message was sent; absent if there is none. */
  oldestAge?: number;
}

/** A message that was given up. */
export interface DeadLetter<B = unknown> {
  id: bigint;
  name: string;
  body: B;
  /** Milliseconds since epoch, as `diedAt`. */
  createdAt: number;
  /** Deliveries before it was given up. */
  attempts: number;
  reason: string;
  diedAt: number;
}

/** Which dead letters are meant; without either, all. */
export interface DeadLetterChoice {
  name?: string;
  ids?: readonly (bigint | number)[];
}

export interface DeadLetters {
  /** In order of id, from `after` on (exclusive). `limit` defaults to 100. */
  list(options?: { name?: string; after?: bigint | number; limit?: number }): Promise<DeadLetter[]>;
  /** Sends them again as new messages, as far as the queue has room; returns how many. */
  replay(choice?: DeadLetterChoice): Promise<number>;
  /** Deletes them; returns how many. */
  purge(choice?: DeadLetterChoice): Promise<number>;
}

/** The message type of a name, spread over a union of names. */
export type QueueMessageFor<Q extends QueueSchemaConfig, N extends string, C extends boolean> = N extends unknown
  ? C extends true
    ? IsLeased<Q, N> extends true
      ? LeasedQueueMessage<N, QueueBody<Q, N>, QueueAnswer<Q, N>>
      : CompletableQueueMessage<N, QueueBody<Q, N>, QueueAnswer<Q, N>>
    : QueueMessage<N, QueueBody<Q, N>>
  : never;

export interface QueueTryNextOptions<N extends string = string, C extends boolean = boolean> {
  /** Receive these names only. Default: all. */
  names?: readonly N[];
  /** Keep received messages until `complete()`. Default false: receiving removes. */
  completable?: C;
}

export interface QueueNextOptions<N extends string = string, C extends boolean = boolean>
  extends QueueTryNextOptions<N, C> {
  /** Milliseconds to wait. Default: until a message comes or the actor stops. */
  timeout?: number;
  signal?: AbortSignal;
}

export interface QueueNextBatchOptions<N extends string = string, C extends boolean = boolean>
  extends QueueNextOptions<N, C> {
  /** At most so many messages. Default 1. */
  count?: number;
}

export interface QueueTryNextBatchOptions<N extends string = string, C extends boolean = boolean>
  extends QueueTryNextOptions<N, C> {
  /** At most so many messages. Default 1. */
  count?: number;
}

export interface QueueWaitOptions {
  /** Milliseconds; when they pass, `queue/timed_out` is thrown. */
  timeout?: number;
  signal?: AbortSignal;
}

export interface QueueIterOptions<N extends string = string, C extends boolean = boolean>
  extends QueueTryNextOptions<N, C> {
  signal?: AbortSignal;
}

export interface ActorQueue<Q extends QueueSchemaConfig = Record<never, never>> {
  /** Resolves when the message is on disk. */
  send<N extends QueueName<Q>>(name: N, body: QueueBody<Q, N>): Promise<QueueMessageFor<Q, N, false>>;
  /** The next message, or `undefined` after `timeout`. */
  next<const N extends QueueName<Q> = QueueName<Q>, const C extends boolean = false>(
    options?: QueueNextOptions<N, C>,
  ): Promise<QueueMessageFor<Q, N, C> | undefined>;
  /** Up to `count` messages; an empty array after `timeout`. */
  nextBatch<const N extends QueueName<Q> = QueueName<Q>, const C extends boolean = false>(
    options?: QueueNextBatchOptions<N, C>,
  ): Promise<QueueMessageFor<Q, N, C>[]>;
  /** As `next`, but a passed `timeout` throws `queue/timed_out`. */
  waitForNames<const N extends QueueName<Q>>(
    names: readonly N[],
    options?: QueueWaitOptions,
  ): Promise<QueueMessageFor<Q, N, false>>;
  /** Resolves when a message is there, without receiving it. */
  waitForAvailable(names?: readonly QueueName<Q>[], options?: QueueWaitOptions): Promise<void>;
  /** Completes a message by id, also one received before a sleep. False if it is gone. */
  complete<N extends QueueName<Q>>(
    message: { id: number | bigint; name: N },
    ...answer: [answer?: QueueAnswer<Q, N>]
  ): Promise<boolean>;
  /** Sends and waits for `complete()`; resolves with its answer. */
  enqueueAndWait<N extends QueueName<Q>>(
    name: N,
    body: QueueBody<Q, N>,
    options?: QueueWaitOptions,
  ): Promise<QueueAnswer<Q, N> | undefined>;
  /** A message if one is there now. */
  tryNext<const N extends QueueName<Q> = QueueName<Q>, const C extends boolean = false>(
    options?: QueueTryNextOptions<N, C>,
  ): Promise<QueueMessageFor<Q, N, C> | undefined>;
  tryNextBatch<const N extends QueueName<Q> = QueueName<Q>, const C extends boolean = false>(
    options?: QueueTryNextBatchOptions<N, C>,
  ): Promise<QueueMessageFor<Q, N, C>[]>;
  /** Messages until the actor stops or `signal` fires; then the loop ends quietly. */
  iter<const N extends QueueName<Q> = QueueName<Q>, const C extends boolean = false>(
    options?: QueueIterOptions<N, C>,
  ): AsyncIterableIterator<QueueMessageFor<Q, N, C>>;
  /** Counts of one queue name, or of all. */
  stats(name?: QueueName<Q>): Promise<QueueStats>;
  /** Messages of queues with delivery options that were given up. */
  readonly deadLetters: DeadLetters;
}
