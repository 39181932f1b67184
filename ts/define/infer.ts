/** Types read out of event and queue declarations. */
import type { QueueDelivery } from "./delivery";
import type {
  EventSchemaConfig,
  EventSchemaDefinition,
  EventTypeToken,
  PrimitiveSchema,
  QueueSchemaConfig,
  QueueSchemaDefinition,
  QueueTypeToken,
  StandardSchema,
} from "./schema";

/** The value type of one declared event or queue. */
export type InferSchema<T> =
  T extends StandardSchema<any, infer Output>
    ? Output
    : T extends QueueTypeToken<infer Message, any, any>
      ? Message
      : T extends EventTypeToken<infer Event, any>
        ? Event
        : T extends QueueSchemaDefinition
          ? InferSchema<T["message"]>
          : T extends EventSchemaDefinition
            ? InferSchema<T["schema"]>
            : never;

export type InferSchemaMap<T extends Record<string, unknown>> = { [K in keyof T]: InferSchema<T[K]> };

/** The answer type of one declared queue; `never` when it declares none. */
export type InferQueueComplete<T> =
  T extends QueueTypeToken<any, infer C, any>
    ? C
    : T extends QueueSchemaDefinition
      ? T["complete"] extends PrimitiveSchema
        ? InferSchema<T["complete"]>
        : never
      : never;

export type InferQueueCompleteMap<T extends QueueSchemaConfig> = { [K in keyof T]: InferQueueComplete<T[K]> };

/** Arguments of an event: a tuple type spreads, anything else is the one argument. */
export type InferEventArgs<T> = T extends readonly unknown[] ? (number extends T["length"] ? [T] : T) : [T];

/** No events (queues) declared: every name is allowed, with any arguments. */
export type IsOpen<T> = [keyof T] extends [never] ? true : false;

export type EventName<E extends EventSchemaConfig> = IsOpen<E> extends true ? string : keyof E & string;

export type EventArgs<E extends EventSchemaConfig, N> =
  IsOpen<E> extends true ? any[] : N extends keyof E ? InferEventArgs<InferSchema<E[N]>> : never;

export type QueueName<Q extends QueueSchemaConfig> = IsOpen<Q> extends true ? string : keyof Q & string;

export type QueueBody<Q extends QueueSchemaConfig, N> =
  IsOpen<Q> extends true ? unknown : N extends keyof Q ? InferSchema<Q[N]> : never;

/** Whether a queue has delivery options, which lease its completable messages. */
export type IsLeased<Q extends QueueSchemaConfig, N> = N extends keyof Q
  ? [Extract<keyof Q[N], "_queueLeased" | keyof QueueDelivery>] extends [never]
    ? false
    : true
  : false;

/** What `complete()` takes and `enqueueAndWait` yields. */
export type QueueAnswer<Q extends QueueSchemaConfig, N> =
  IsOpen<Q> extends true
    ? unknown
    : N extends keyof Q
      ? [InferQueueComplete<Q[N]>] extends [never]
        ? unknown
        : InferQueueComplete<Q[N]>
      : unknown;
