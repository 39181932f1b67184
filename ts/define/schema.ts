/**
 * Declaring and validating events and queues: `event()`, `queue()` and any
 * Standard Schema validator (zod, valibot, arktype …).
 */
import { invalidDefinition, type ValidationIssue, validationFailed } from "../errors/raised";
import { rejectUnknown } from "./check";
import { compileDelivery, DELIVERY_OPTIONS, type QueueDelivery } from "./delivery";

/** The part of the Standard Schema interface (version 1) that is used here. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Decides about one caller; false answers `auth/forbidden`. */
export type SchemaHook<TContext = any> = (c: TContext) => boolean | Promise<boolean>;

/** What {@link event} returns: the type of an event, and optionally its rules. */
export interface EventTypeToken<T, TContext = any> {
  readonly kind: "event";
  /** Carries the type; never present at run time. */
  readonly _eventType?: T;
  readonly canSubscribe?: SchemaHook<TContext>;
  readonly schema?: PrimitiveSchema;
}

/** What {@link queue} returns: the types of a message and its answer. */
export interface QueueTypeToken<TMessage, TComplete = never, TContext = any> {
  readonly kind: "queue";
  /** Carries the type; never present at run time. */
  readonly _queueMessage?: TMessage;
  /** Carries the type; never present at run time. */
  readonly _queueComplete?: TComplete;
  readonly canPublish?: SchemaHook<TContext>;
  readonly message?: PrimitiveSchema;
  readonly complete?: PrimitiveSchema;
}

/** The same of a queue with delivery options: its completable messages are leased. */
export interface LeasedQueueTypeToken<TMessage, TComplete = never, TContext = any>
  extends QueueTypeToken<TMessage, TComplete, TContext> {
  /** Carries the fact; never present at run time. */
  readonly _queueLeased?: true;
}

export type PrimitiveSchema = StandardSchema<any, any> | EventTypeToken<unknown, any>;

export interface EventSchemaDefinition<TContext = any> {
  schema: PrimitiveSchema;
  canSubscribe?: SchemaHook<TContext>;
}

export interface QueueSchemaDefinition<TContext = any> extends QueueDelivery {
  message: PrimitiveSchema;
  complete?: PrimitiveSchema;
  canPublish?: SchemaHook<TContext>;
}

export type EventSchema = PrimitiveSchema | EventSchemaDefinition;
export type QueueSchema = PrimitiveSchema | QueueSchemaDefinition | QueueTypeToken<unknown, unknown>;
export type EventSchemaConfig = Record<string, EventSchema>;
export type QueueSchemaConfig = Record<string, QueueSchema>;

export interface EventOptions<TContext = any> {
  /** Asked when a connection subscribes. */
  canSubscribe?: SchemaHook<TContext>;
  /** Checks what is broadcast: the single argument, or the array of several. */
  schema?: PrimitiveSchema;
}

export interface QueueOptions<TContext = any> {
  /** Asked when a client sends. */
  canPublish?: SchemaHook<TContext>;
  message?: PrimitiveSchema;
  complete?: PrimitiveSchema;
}

/** Declares an event by its argument type; a tuple type stands for several arguments. */
export function event<T, TContext = any>(options: EventOptions<TContext> = {}): EventTypeToken<T, TContext> {
  return { kind: "event", ...options };
}

/** At least one of the delivery options. */
type SomeDelivery = QueueDelivery &
  { [K in keyof QueueDelivery]-?: Required<Pick<QueueDelivery, K>> }[keyof QueueDelivery];

/**
 * Declares a queue by the types of its messages and of their completion. One of
 * the delivery options (`maxAttempts`, `visibilityTimeout`, `backoff`,
 * `deadLetter`) leases completable messages to their receivers.
 */
export function queue<TMessage, TComplete = never, TContext = any>(
  options: QueueOptions<TContext> & SomeDelivery,
): LeasedQueueTypeToken<TMessage, TComplete, TContext>;
export function queue<TMessage, TComplete = never, TContext = any>(
  options?: QueueOptions<TContext>,
): QueueTypeToken<TMessage, TComplete, TContext>;
export function queue(options: QueueOptions & QueueDelivery = {}): QueueTypeToken<unknown, unknown> {
  return { kind: "queue", ...options };
}

/** @internal One declared event or queue, whatever form it was written in. */
export interface CompiledSchema {
  readonly message: StandardSchema | undefined;
  readonly complete: StandardSchema | undefined;
  readonly allow: SchemaHook | undefined;
  /** Of queues that have such options. */
  readonly delivery: QueueDelivery | undefined;
}

const KNOWN = ["kind", "schema", "message", "complete", "canSubscribe", "canPublish", ...DELIVERY_OPTIONS];

/** @internal */
export function compileSchema(option: string, schema: unknown): CompiledSchema {
  if (isValidator(schema)) return { message: schema, complete: undefined, allow: undefined, delivery: undefined };
  if (typeof schema !== "object" || schema === null) {
    throw invalidDefinition(option, "must be event(), queue() or a Standard Schema validator");
  }
  rejectUnknown(schema, KNOWN, `${option}.`);
  const definition = schema as Record<string, unknown>;
  const { schema: inner, message, complete, canSubscribe, canPublish } = definition;
  const allow = canSubscribe ?? canPublish;
  if (allow !== undefined && typeof allow !== "function") {
    throw invalidDefinition(option, "has a canSubscribe or canPublish that is no function");
  }
  return {
    message: validatorOf(option, inner ?? message),
    complete: validatorOf(option, complete),
    allow: allow as SchemaHook | undefined,
    delivery: compileDelivery(option, definition),
  };
}

/** A plain type token validates nothing; anything else must be a validator. */
function validatorOf(option: string, schema: unknown): StandardSchema | undefined {
  if (schema === undefined) return undefined;
  if (isValidator(schema)) return schema;
  if (typeof schema === "object" && schema !== null) return compileSchema(option, schema).message;
  throw invalidDefinition(option, "holds something that is no Standard Schema validator");
}

/** @internal Validators may be functions (arktype), hence the two types. */
export function isValidator(schema: unknown): schema is StandardSchema {
  if ((typeof schema !== "object" && typeof schema !== "function") || schema === null) return false;
  const standard = (schema as { "~standard"?: unknown })["~standard"];
  return (
    typeof standard === "object" &&
    standard !== null &&
    typeof (standard as { validate?: unknown }).validate === "function"
  );
}

/** @internal Validates and transforms; failure is `<group>/validation_failed`. */
export async function validate(
  schema: StandardSchema | undefined,
  value: unknown,
  group: string,
  subject: string,
): Promise<unknown> {
  return schema === undefined ? value : validateSoon(schema, value, group, subject);
}

/** @internal As {@link validate}, at once if the validator is synchronous. */
export function validateSoon(schema: StandardSchema, value: unknown, group: string, subject: string): unknown {
  const result = schema["~standard"].validate(value);
  if ("then" in result) return Promise.resolve(result).then((result) => accepted(result, group, subject));
  return accepted(result, group, subject);
}

/** @internal As {@link validate} where nobody can wait, as in `broadcast`. */
export function validateNow(
  schema: StandardSchema | undefined,
  value: unknown,
  group: string,
  subject: string,
): unknown {
  if (schema === undefined) return value;
  const result = schema["~standard"].validate(value);
  if (result instanceof Promise) {
    // Its outcome comes too late; it must not become an unhandled rejection.
    result.catch(() => undefined);
    throw invalidDefinition(subject, "has an asynchronous validator, which broadcast cannot wait for");
  }
  return accepted(result, group, subject);
}

function accepted(result: StandardResult<unknown>, group: string, subject: string): unknown {
  if (result.issues === undefined) return result.value;
  throw validationFailed(group, subject, result.issues.map(plainIssue));
}

/** Issues go over the wire: only text and plain path segments. */
function plainIssue(issue: StandardIssue): ValidationIssue {
  if (issue.path === undefined) return { message: issue.message };
  const path = issue.path.map((segment) => {
    const key = typeof segment === "object" ? segment.key : segment;
    return typeof key === "number" ? key : String(key);
  });
  return { message: issue.message, path };
}
