import { describe, expect, test } from "vitest";
import { decode, encode, failure, native, stage, thrown } from "./addon";

/** An actor whose one action hands its native queue to the test. */
async function queueOf(config: Record<string, unknown> = {}) {
  let body: (queue: any) => Promise<unknown> = async () => undefined;
  const { call } = await stage(
    { actions: { use: async (_: unknown, { ctx }: any) => (await body(ctx.queue()), encode(null)) } },
    config,
  );
  return async <T>(use: (queue: any) => Promise<T>): Promise<T> => {
    let result: T | undefined;
    body = async (queue) => {
      result = await use(queue);
    };
    await call("use");
    return result as T;
  };
}

describe("a native queue", () => {
  test("hands out messages in order, with the published shapes", async () => {
    const use = await queueOf();
    await use(async (queue) => {
      const sent = await queue.send("jobs", encode({ n: 1 }));
      expect(sent).toBeInstanceOf(native.QueueMessage);
      expect([sent.id(), sent.name(), decode(sent.body())]).toEqual([1n, "jobs", { n: 1 }]);
      expect(sent.isCompletable()).toBe(false);
      expect(Math.abs(sent.createdAt() - Date.now())).toBeLessThan(60_000);
      expect(Buffer.isBuffer(sent.body())).toBe(true);
      await queue.send("other", encode(2));
      expect((await queue.next({ names: ["other"] })).id()).toBe(2n);
      expect((await queue.next()).id()).toBe(1n);
      expect(await queue.next({ timeoutMs: 0 })).toBeNull();
      expect(await queue.nextBatch({ timeoutMs: 0 })).toEqual([]);
      expect(queue.tryNext()).toBeNull();
      expect(queue.tryNextBatch({ count: 3 })).toEqual([]);
      expect(queue.maxSize()).toBe(1000);
    });
  });

  test("keeps the order of sends that nobody waited for", async () => {
    const use = await queueOf();
    await use(async (queue) => {
      const sends = Array.from({ length: 200 }, (_, i) => queue.send("q", encode(i)));
      const ids = (await Promise.all(sends)).map((message: any) => message.id());
      expect(ids).toEqual(Array.from({ length: 200 }, (_, i) => BigInt(i + 1)));
      const taken = queue.tryNextBatch({ count: 500 });
      expect(taken.map((message: any) => decode(message.body()))).toEqual(Array.from({ length: 200 }, (_, i) => i));
    });
  });

  test("refuses what no option can mean", async () => {
    const use = await queueOf();
    await use(async (queue) => {
      for (const wait of [
        () => queue.nextBatch({ timeoutMs: -1 }),
        () => queue.next({ timeoutMs: -1 }),
        () => queue.waitForNames(["a"], { timeoutMs: -1 }),
        () => queue.enqueueAndWait("a", encode(1), { timeoutMs: -1 }),
      ]) {
        expect(await failure(wait())).toMatchObject({
          group: "napi",
          code: "invalid_argument",
          message: "Invalid native argument 'timeoutMs': must be non-negative",
        });
      }
      for (const id of [-1n, 2n ** 64n]) {
        expect(await failure(queue.completePersisted(id, "a"))).toMatchObject({
          code: "invalid_argument",
          metadata: { argument: "messageId", reason: "must be a non-negative 64-bit bigint" },
        });
      }
      expect(thrown(() => queue.tryNextBatch({ count: -1 }))).toMatchObject({ code: "invalid_argument" });
      expect(await queue.nextBatch({ timeoutMs: 0 })).toEqual([]);
      expect(() => queue.send("a", "text")).toThrow();
      expect(() => queue.send(1, encode(1))).toThrow();
    });
  });

  test("tells the limits of size and number", async () => {
    const use = await queueOf({ maxQueueSize: 1 });
    await use(async (queue) => {
      expect(await failure(queue.send("q", Buffer.alloc(65_537)))).toMatchObject({
        group: "queue",
        code: "message_too_large",
        public: true,
        statusCode: 400,
        metadata: { size: 65_556, limit: 65_536 },
      });
      await queue.send("q", encode(1));
      expect(await failure(queue.send("q", encode(2)))).toMatchObject({ code: "full", metadata: { limit: 1 } });
    });
  });

  test("completes a message once, and says why otherwise", async () => {
    const use = await queueOf();
    await use(async (queue) => {
      await queue.send("q", encode(1));
      await queue.send("q", encode(2));
      const kept = await queue.next({ completable: true });
      expect(kept.isCompletable()).toBe(true);
      expect(kept.attempt()).toBeNull();
      // Nothing hides it from another receive.
      expect((await queue.next({ completable: true })).id()).toBe(kept.id());
      await kept.complete();
      expect(await failure(kept.complete())).toMatchObject({
        group: "napi",
        code: "invalid_state",
        message: "Invalid native state 'queue message': already completed",
      });
      const gone = await queue.next();
      expect(await failure(gone.complete())).toMatchObject({
        code: "complete_not_configured",
        metadata: { name: "q" },
      });
      expect(await failure(gone.retry())).toMatchObject({ code: "not_leased" });
      expect(await queue.completePersisted(kept.id(), "q")).toBe(false);
      const third = await queue.send("q", encode(3));
      expect(await failure(queue.completePersisted(third.id(), "other"))).toMatchObject({
        code: "message_identity_mismatch",
        metadata: { message_id: 3, expected_name: "other", actual_name: "q" },
      });
      expect(await queue.completePersisted(third.id(), "q", encode(null))).toBe(true);
    });
  });

  test("ends a wait at its timeout, its token, or with an answer", async () => {
    const use = await queueOf();
    await use(async (queue) => {
      expect(await failure(queue.waitForNames(["a"], { timeoutMs: 5 }))).toMatchObject({
        group: "queue",
        code: "timed_out",
        message: "Queue wait timed out after 5 ms.",
        metadata: { timeout_ms: 5 },
      });
      const token = new native.CancellationToken();
      const waiting = queue.nextBatch({}, token);
      token.cancel();
      expect(await failure(waiting)).toMatchObject({ group: "actor", code: "aborted", message: "Actor aborted" });
      const answered = queue.enqueueAndWait("a", encode("ping"));
      await queue.waitForNamesAvailable(["a"]);
      const message = await queue.waitForNames(["a"], { completable: true });
      await message.complete(encode("pong"));
      expect(decode(await answered)).toBe("pong");
      const unanswered = queue.enqueueAndWait("a", encode("ping"), { timeoutMs: 60_000 });
      await (await queue.next({ completable: true })).complete();
      expect(await unanswered).toBeNull();
      // Listened to from the start: it fails before the reset is answered.
      const dropped = failure(queue.enqueueAndWait("a", encode(1)));
      await queue.waitForNamesAvailable(["a"]);
      await queue.reset();
      expect(await dropped).toMatchObject({ code: "completion_waiter_dropped" });
      expect(await queue.inspectMessages()).toEqual([]);
    });
  });

  test("lists its messages for an inspector, and leaves them", async () => {
    const use = await queueOf();
    await use(async (queue) => {
      await queue.send("a", encode(1));
      await queue.send("b", encode(2));
      const heads = await queue.inspectMessages();
      expect(heads).toEqual([
        { id: 1, name: "a", createdAtMs: expect.any(Number) },
        { id: 2, name: "b", createdAtMs: expect.any(Number) },
      ]);
      expect(await queue.stats("a")).toMatchObject({ depth: 1, inFlight: 0, delayed: 0, dead: 0 });
    });
  });

  test("does not hang the thread when a transaction of that thread is in the way", { timeout: 20_000 }, async () => {
    const { call } = await stage({
      actions: {
        use: async (_: unknown, { ctx }: any) => {
          const transaction = await ctx.sql().beginTransaction();
          try {
            return encode(thrown(() => ctx.queue().tryNext()).code);
          } finally {
            await transaction.rollback();
          }
        },
      },
    });
    expect(await call("use")).toBe("timed_out");
  });

  test.each([
    [{ maxAttempts: 0 }, "maxAttempts"],
    [{ visibilityTimeoutMs: 0 }, "visibilityTimeoutMs"],
    [{ backoff: { factor: 0.5 } }, "factor"],
    [{ backoff: { initialMs: -1 } }, "initialMs"],
  ])("refuses a policy of %j", (policy, argument) => {
    const error = thrown(() => new native.NapiActorFactory({}, { queues: [{ name: "q", ...policy }] }));
    expect(error).toMatchObject({ code: "invalid_argument", metadata: { argument } });
  });
});
