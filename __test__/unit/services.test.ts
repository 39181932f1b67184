import { describe, expect, test } from "vitest";
import { defaultLogger } from "../../ts/context/log";
import { queue } from "../../ts/define/schema";
import { decode, encode, type FakeToken, rig } from "../fixtures/fake-native";

const bridge = (group: string, code: string) =>
  new Error(`__RIVET_ERROR_JSON__:${JSON.stringify({ group, code, message: code })}`);

class FakeMessage {
  completed: unknown[] = [];
  failNext: Error | undefined;
  constructor(
    readonly number: bigint,
    readonly queueName: string,
    readonly content: unknown,
    readonly completable = false,
  ) {}
  id = () => this.number;
  name = () => this.queueName;
  body = () => encode(this.content);
  createdAt = () => 1000;
  isCompletable = () => this.completable;
  attempt = () => null;
  complete = async (response?: Uint8Array) => {
    const failure = this.failNext;
    this.failNext = undefined;
    if (failure !== undefined) throw failure;
    this.completed.push(response && decode(response));
  };
}

describe("c.queue", () => {
  const withQueue = (native: object, extra: object = {}) => {
    const fixture = rig({ actions: { use: async (c: any) => void (await use(c.queue)) }, ...extra });
    fixture.ctx.services.queue = native;
    let use: (queue: any) => Promise<unknown> = async () => undefined;
    return (body: (queue: any) => Promise<unknown>) => {
      use = body;
      return fixture.action("use");
    };
  };

  test("sends, receives and decodes messages", async () => {
    const calls: unknown[] = [];
    const run = withQueue({
      send: async (name: string, body: Uint8Array) => new FakeMessage(1n, name, decode(body)),
      nextBatch: async (options: unknown, token: unknown) => (
        calls.push([options, token]), [new FakeMessage(2n, "jobs", { j: 1n })]
      ),
      tryNextBatch: (options: unknown) => (calls.push(options), []),
    });
    await run(async (queue) => {
      expect(await queue.send("jobs", { a: undefined })).toEqual({
        id: 1n,
        name: "jobs",
        body: { a: undefined },
        createdAt: 1000,
      });
      expect(await queue.next({ names: ["jobs"], timeout: 5 })).toMatchObject({ id: 2n, body: { j: 1n } });
      expect(await queue.tryNext({ timeout: 5 })).toBe(undefined);
    });
    expect(calls).toEqual([[{ names: ["jobs"], count: 1, timeoutMs: 5 }, undefined], { count: 1 }]);
  });

  test("insists on completion before the next receive, and lets a failed one be repeated", async () => {
    const message = new FakeMessage(1n, "jobs", 1, true);
    const run = withQueue({ nextBatch: async () => [message], tryNextBatch: () => [] });
    await run(async (queue) => {
      const received = await queue.next({ completable: true });
      await expect(queue.next()).rejects.toMatchObject({ code: "previous_message_not_completed" });
      await expect(queue.tryNext()).rejects.toMatchObject({ code: "previous_message_not_completed" });
      message.failNext = bridge("core", "internal_error");
      await expect(received.complete({ ok: 1 })).rejects.toMatchObject({ group: "core" });
      await received.complete({ ok: 1 });
      await expect(received.complete()).rejects.toMatchObject({ group: "queue", code: "already_completed" });
      expect(await queue.tryNext()).toBe(undefined);
    });
    expect(message.completed).toEqual([{ ok: 1 }]);
  });

  test("completes a message by its id", async () => {
    const calls: unknown[] = [];
    const run = withQueue({
      nextBatch: async () => [new FakeMessage(7n, "jobs", 1, true)],
      completePersisted: async (...args: unknown[]) => (calls.push(args), true),
    });
    await run(async (queue) => {
      const message = await queue.next({ completable: true });
      expect(await queue.complete({ id: Number(message.id), name: "jobs" })).toBe(true);
      await queue.next({ completable: true });
    });
    expect(calls).toEqual([[7n, "jobs", undefined]]);
  });

  test("checks bodies and completions against the declared schemas", async () => {
    const positive = {
      "~standard": {
        version: 1 as const,
        vendor: "test",
        validate: async (value: unknown) =>
          Number(value) > 0 ? { value: Number(value) } : { issues: [{ message: "not positive" }] },
      },
    };
    const run = withQueue(
      {
        send: async (name: string, body: Uint8Array) => new FakeMessage(1n, name, decode(body)),
        completePersisted: async () => true,
      },
      { queues: { jobs: queue({ message: positive, complete: positive }) } },
    );
    await run(async (queue) => {
      expect((await queue.send("jobs", "5")).body).toBe(5);
      await expect(queue.send("jobs", -1)).rejects.toMatchObject({
        group: "queue",
        code: "validation_failed",
        metadata: { issues: [{ message: "not positive" }] },
      });
      await expect(queue.complete({ id: 1n, name: "jobs" }, -1)).rejects.toMatchObject({ code: "validation_failed" });
    });
  });

  test("turns a signal into a native token, and iterates until the actor stops", async () => {
    const tokens: FakeToken[] = [];
    let received = 0;
    const run = withQueue({
      nextBatch: async (_: unknown, token: FakeToken) => {
        tokens.push(token);
        if (received++ === 2) throw bridge("actor", "aborted");
        return [new FakeMessage(BigInt(received), "jobs", received)];
      },
    });
    await run(async (queue) => {
      const bodies: unknown[] = [];
      for await (const message of queue.iter({ signal: AbortSignal.abort() })) bodies.push(message.body);
      expect(bodies).toEqual([1, 2]);
    });
    expect(tokens.map((token) => token.aborted())).toEqual([true, true, true]);
  });

  test("passes other failures of the loop on", async () => {
    const run = withQueue({
      nextBatch: async () => {
        throw bridge("core", "internal_error");
      },
    });
    await expect(run(async (queue) => queue.iter().next())).rejects.toMatchObject({ group: "core" });
  });

  test("waits for names, for availability and for an answer", async () => {
    const calls: unknown[] = [];
    const run = withQueue({
      waitForNames: async (...args: unknown[]) => (calls.push(args), new FakeMessage(1n, "a", 1)),
      waitForNamesAvailable: async (...args: unknown[]) => void calls.push(args),
      enqueueAndWait: async (name: string, _: unknown, options: unknown) => (
        calls.push([name, options]), encode({ done: 1 })
      ),
    });
    await run(async (queue) => {
      expect((await queue.waitForNames(["a"], { timeout: 1 })).body).toBe(1);
      await queue.waitForAvailable();
      expect(await queue.enqueueAndWait("a", 1, { timeout: 2 })).toEqual({ done: 1 });
    });
    expect(calls).toEqual([
      [["a"], { timeoutMs: 1 }, undefined],
      [[], {}, undefined],
      ["a", { timeoutMs: 2 }],
    ]);
  });
});

describe("a message from a client", () => {
  const send = (config: object, payload: object = {}, native: object = {}) => {
    const fixture = rig(config);
    const sent: unknown[] = [];
    fixture.ctx.services.queue = {
      send: async (name: string, body: Uint8Array) => void sent.push([name, decode(body)]),
      ...native,
    };
    const usual = { conn: null, request: null, name: "jobs", body: encode({ j: 1 }), wait: false, timeoutMs: null };
    return { result: fixture.call("onQueueSend", { ...usual, ...payload }), sent };
  };

  test("is stored if its queue is declared and dropped if not", async () => {
    const declared = send({ queues: { jobs: queue() } });
    expect([await declared.result, declared.sent]).toEqual([{ status: "completed" }, [["jobs", { j: 1 }]]]);
    const undeclared = send({ queues: { other: queue() } });
    expect([await undeclared.result, undeclared.sent]).toEqual([{ status: "completed" }, []]);
    expect(await send({}).result).toEqual({ status: "completed" });
  });

  test("is refused where the sender may not publish", async () => {
    const { result } = send({ queues: { jobs: queue({ canPublish: async () => false }) } });
    await expect(result).rejects.toMatchObject({ group: "auth", code: "forbidden" });
  });

  test("that waits is answered by its completion or its timeout", async () => {
    const config = { queues: { jobs: queue() } };
    const wait = { wait: true, timeoutMs: 200n };
    const options: unknown[] = [];
    const done = send(config, wait, {
      enqueueAndWait: async (...args: unknown[]) => (options.push(args[2]), encode("ok")),
    });
    expect(decode((await done.result).response)).toBe("ok");
    expect(options).toEqual([{ timeoutMs: 200 }]);
    const late = send(config, wait, {
      enqueueAndWait: async () => {
        throw bridge("queue", "timed_out");
      },
    });
    expect(await late.result).toEqual({ status: "timedOut" });
    const broken = send(config, wait, {
      enqueueAndWait: async () => {
        throw bridge("queue", "full");
      },
    });
    await expect(broken.result).rejects.toMatchObject({ code: "full" });
  });
});

describe("c.schedule and c.cron", () => {
  test("encode arguments, decode listings and report errors as structured", async () => {
    const calls: unknown[][] = [];
    const note =
      (answer: unknown) =>
      async (...args: unknown[]) => (
        calls.push(args.map((arg) => (arg instanceof Uint8Array ? decode(arg) : arg))), answer
      );
    const fixture = rig({
      actions: {
        use: async (c: any) => [
          await c.schedule.after(5, "tick", 1n),
          await c.schedule.at(9, "tick"),
          await c.schedule.get("x"),
          await c.schedule.list(),
          await c.schedule.cancel("x"),
          await c.cron.set({ name: "n", expression: "* * * * *", action: "tick", args: [1] }),
          await c.cron.every({ name: "e", interval: 5000, action: "tick", maxHistory: 3 }),
          await c.cron.list(),
          await c.cron.get("none"),
          await c.cron.delete("n"),
          await c.cron.history("n", { limit: 2 }),
        ],
      },
    });
    const job = { action: "tick", args: encode([1]), nextRunAt: 7, maxHistory: 3 };
    fixture.ctx.services.schedule = {
      after: note("id1"),
      at: note("id2"),
      get: note(null),
      list: note([{ id: "i", action: "tick", args: encode([2n]), runAt: 5 }]),
      cancel: note(true),
      cronSet: note(undefined),
      cronEvery: note(undefined),
      cronGet: note(null),
      cronList: note([
        { ...job, name: "e", kind: "every", intervalMs: 5000, lastRunAt: 6 },
        { ...job, name: "n", kind: "cron", expression: "* * * * *", timezone: "UTC" },
      ]),
      cronDelete: note(false),
      cronHistory: note([{ action: "tick", scheduledAt: 1, firedAt: 2, result: "ok" }]),
    };
    const output = await fixture.action("use");
    expect(output.slice(0, 5)).toEqual([
      "id1",
      "id2",
      undefined,
      [{ id: "i", action: "tick", args: [2n], runAt: 5 }],
      true,
    ]);
    expect(output[7]).toEqual([
      {
        name: "e",
        action: "tick",
        args: [1],
        nextRunAt: 7,
        lastRunAt: 6,
        maxHistory: 3,
        kind: "every",
        interval: 5000,
      },
      {
        name: "n",
        action: "tick",
        args: [1],
        nextRunAt: 7,
        maxHistory: 3,
        kind: "cron",
        expression: "* * * * *",
        timezone: "UTC",
      },
    ]);
    expect(output.slice(8)).toEqual([undefined, false, [{ action: "tick", scheduledAt: 1, firedAt: 2, result: "ok" }]]);
    expect(calls[0]).toEqual([5, "tick", [1n]]);
    expect(calls[5]).toEqual(["n", "* * * * *", undefined, "tick", [1], undefined]);

    fixture.ctx.beginNext();
    fixture.ctx.services.schedule = {
      after: async () => {
        throw bridge("schedule", "max_schedules_exceeded");
      },
    };
    await expect(fixture.action("use")).rejects.toMatchObject({ group: "schedule", code: "max_schedules_exceeded" });
  });
});

describe("c.kv", () => {
  test("puts user keys under a prefix and takes it off again", async () => {
    const seen: unknown[] = [];
    const fixture = rig({
      actions: {
        use: async (c: any) => {
          await c.kv.put("k", "v");
          await c.kv.put(new Uint8Array([9]), new Uint8Array([1, 2]).buffer);
          await c.kv.batchPut([[new Uint8Array([4, 1]), new Uint8Array([5])]]);
          return [
            await c.kv.get("k"),
            await c.kv.get("k", { type: "binary" }),
            await c.kv.get("none"),
            await c.kv.list("", { reverse: true, keyType: "text" }),
          ];
        },
      },
    });
    fixture.ctx.services.kv = {
      put: async (key: Uint8Array, value: Uint8Array) => void seen.push([[...key], [...value]]),
      batchPut: async (entries: { key: Uint8Array }[]) => void seen.push(entries.map(({ key }) => [...key])),
      get: async (key: Uint8Array) => (key.length === 2 ? new Uint8Array([118]) : null),
      listPrefix: async (prefix: Uint8Array, options: unknown) => (
        seen.push([[...prefix], options]), [{ key: new Uint8Array([4, 107]), value: new Uint8Array([118]) }]
      ),
    };
    expect(await fixture.action("use")).toEqual(["v", new Uint8Array([118]), null, [["k", "v"]]]);
    expect(seen).toEqual([
      [[4, 107], [118]],
      [
        [4, 9],
        [1, 2],
      ],
      [[4, 1]],
      [[4], { reverse: true }],
    ]);
  });
});

describe("the default logger", () => {
  test("writes one line per entry, from its level up, and never fails", () => {
    const lines: string[] = [];
    const log = defaultLogger("info", (line) => lines.push(line)).child({ actor: "room" });
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    log.debug("hidden");
    log.info({ msg: "two words", n: 1n, cycle, gone: undefined });
    const { warn } = log;
    warn("plain", "ignored");
    log.level = "silent";
    log.error("hidden");
    expect(lines.map((line) => line.replace(/^ts=\S+ /, ""))).toEqual([
      'level=info message="two words" actor=room n=1 cycle="[object Object]"\n',
      "level=warn message=plain actor=room\n",
    ]);
  });
});
