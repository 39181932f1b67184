/** Types of `c.queue`. */
import type { QueueAnswer, QueueBody, QueueName } from "../define/infer";
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

/** The message type of a name, spread over a union of names. */
export type QueueMessageFor<Q extends QueueSchemaConfig, N extends string, C extends boolean> = N extends unknown
  ? C extends true
    ? CompletableQueueMessage<N, QueueBody<Q, N>, QueueAnswer<Q, N>>
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
}
