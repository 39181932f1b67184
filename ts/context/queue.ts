/** `c.queue` over the native queue: bodies encoded, schemas checked, waits abortable. */
import { validate } from "../define/schema";
import { ActorError } from "../errors/actor-error";
import { callNative, fromNativePromise } from "../errors/bridge";
import { messageAlreadyCompleted, previousMessageNotCompleted } from "../errors/raised";
import type { NativeQueue, NativeQueueMessage, NativeReceive } from "../native/storage-types";
import { withToken } from "./abort";
import { createDeadLetters } from "./dead-letters";
import type { DeadLetters, QueueStats } from "./queue-types";
import type { ActorServices } from "./services";

interface ReceiveOptions {
  names?: readonly string[];
  count?: number;
  timeout?: number;
  signal?: AbortSignal;
  completable?: boolean;
}

interface WaitOptions {
  timeout?: number;
  signal?: AbortSignal;
}

interface Message {
  readonly id: bigint;
  readonly name: string;
  readonly body: unknown;
  readonly createdAt: number;
}

export class ActorQueueImpl {
  readonly #native: NativeQueue;
  readonly #services: ActorServices;
  /**
   * Names of received messages that wait for completion, by id. Only of queues
   * without leases: there nothing else hides them from the next receive.
   */
  readonly #open = new Map<bigint, string>();
  readonly deadLetters: DeadLetters;

  constructor(native: NativeQueue, services: ActorServices) {
    this.#native = native;
    this.#services = services;
    this.deadLetters = createDeadLetters(native, services.codec);
  }

  async send(name: string, body: unknown): Promise<Message> {
    const bytes = await this.#encodeBody(name, body);
    return this.#message(await fromNativePromise(() => this.#native.send(name, bytes)));
  }

  async next(options: ReceiveOptions = {}): Promise<Message | undefined> {
    return (await this.nextBatch({ ...options, count: 1 }))[0];
  }

  async nextBatch(options: ReceiveOptions = {}): Promise<Message[]> {
    this.#requireNoneOpen();
    const messages = await withToken(this.#services.native, options.signal, (token) =>
      fromNativePromise(() => this.#native.nextBatch(receive(options), token)),
    );
    return messages.map((message) => this.#received(message));
  }

  async waitForNames(names: readonly string[], options: WaitOptions = {}): Promise<Message> {
    this.#requireNoneOpen();
    const message = await withToken(this.#services.native, options.signal, (token) =>
      fromNativePromise(() => this.#native.waitForNames([...names], timeout(options), token)),
    );
    return this.#message(message);
  }

  async waitForAvailable(names: readonly string[] = [], options: WaitOptions = {}): Promise<void> {
    await withToken(this.#services.native, options.signal, (token) =>
      fromNativePromise(() => this.#native.waitForNamesAvailable([...names], timeout(options), token)),
    );
  }

  async complete(message: { id: number | bigint; name: string }, answer?: unknown): Promise<boolean> {
    const id = BigInt(message.id);
    const bytes = await this.#encodeAnswer(message.name, answer);
    const existed = await fromNativePromise(() => this.#native.completePersisted(id, message.name, bytes));
    this.#open.delete(id);
    return existed;
  }

  async enqueueAndWait(name: string, body: unknown, options: WaitOptions = {}): Promise<unknown> {
    const bytes = await this.#encodeBody(name, body);
    const answer = await withToken(this.#services.native, options.signal, (token) =>
      fromNativePromise(() => this.#native.enqueueAndWait(name, bytes, timeout(options), token)),
    );
    return answer === null ? undefined : this.#services.codec.decode(answer);
  }

  async tryNext(options: ReceiveOptions = {}): Promise<Message | undefined> {
    return (await this.tryNextBatch({ ...options, count: 1 }))[0];
  }

  async tryNextBatch(options: ReceiveOptions = {}): Promise<Message[]> {
    this.#requireNoneOpen();
    const { timeoutMs: _, ...now } = receive(options);
    return callNative(() => this.#native.tryNextBatch(now)).map((message) => this.#received(message));
  }

  async *iter(options: ReceiveOptions = {}): AsyncIterableIterator<Message> {
    for (;;) {
      let message: Message | undefined;
      try {
        message = await this.next(options);
      } catch (error) {
        if (isAborted(error)) return;
        throw error;
      }
      if (message !== undefined) yield message;
    }
  }

  async stats(name?: string): Promise<QueueStats> {
    const { oldestAgeMs, ...counts } = await fromNativePromise(() => this.#native.stats(name));
    return { ...counts, ...(oldestAgeMs != null && { oldestAge: oldestAgeMs }) };
  }

  #received(native: NativeQueueMessage): Message {
    const message = this.#message(native);
    if (!native.isCompletable()) return message;
    const attempt = native.attempt();
    if (attempt !== null) return this.#leased(native, message, attempt);
    this.#open.set(message.id, message.name);
    return { ...message, complete: (answer?: unknown) => this.#completeReceived(native, message, answer) } as Message;
  }

  #leased(native: NativeQueueMessage, message: Message, attempt: number): Message {
    let ended = false;
    // Stays with the receiver when this fails, so that it can be tried again.
    const end = async (how: () => Promise<void>) => {
      if (ended) throw messageAlreadyCompleted();
      await fromNativePromise(how);
      ended = true;
    };
    return {
      ...message,
      attempt,
      complete: async (answer?: unknown) => {
        const bytes = await this.#encodeAnswer(message.name, answer);
        await end(() => native.complete(bytes));
      },
      retry: ({ after, reason }: { after?: number; reason?: string } = {}) => end(() => native.retry(after, reason)),
      fail: (reason: string) => end(() => native.fail(reason)),
    } as Message;
  }

  async #completeReceived(native: NativeQueueMessage, { id, name }: Message, answer: unknown): Promise<void> {
    if (!this.#open.has(id)) throw messageAlreadyCompleted();
    const bytes = await this.#encodeAnswer(name, answer);
    // Stays open when this fails, so that completing can be tried again.
    await fromNativePromise(() => native.complete(bytes));
    this.#open.delete(id);
  }

  #message(native: NativeQueueMessage): Message {
    return {
      id: native.id(),
      name: native.name(),
      body: this.#services.codec.decode(native.body()),
      createdAt: native.createdAt(),
    };
  }

  #requireNoneOpen(): void {
    for (const name of this.#open.values()) throw previousMessageNotCompleted(name);
  }

  async #encodeBody(name: string, body: unknown): Promise<Uint8Array> {
    const schema = this.#services.definition.queues?.get(name)?.message;
    const checked = await validate(schema, body, "queue", `Message of queue '${name}'`);
    return this.#services.codec.encode(checked, "body");
  }

  async #encodeAnswer(name: string, answer: unknown): Promise<Uint8Array | undefined> {
    const schema = this.#services.definition.queues?.get(name)?.complete;
    const checked = await validate(schema, answer, "queue", `Completion of queue '${name}'`);
    return checked === undefined ? undefined : this.#services.codec.encode(checked, "response");
  }
}

function receive({ names, count, timeout: timeoutMs, completable }: ReceiveOptions): NativeReceive {
  return {
    ...(names !== undefined && { names: [...names] }),
    ...(count !== undefined && { count }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(completable !== undefined && { completable }),
  };
}

function timeout({ timeout: timeoutMs }: WaitOptions): { timeoutMs?: number } {
  return timeoutMs === undefined ? {} : { timeoutMs };
}

/** The actor stops, or the caller's signal fired. */
export function isAborted(error: unknown): boolean {
  return error instanceof ActorError && error.group === "actor" && error.code === "aborted";
}
