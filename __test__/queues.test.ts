import { describe, expect, test } from "vitest";
import { event, greenroom, registryOf, served, temporaryFolder } from "./fixtures/greenroom";
import { onEngine, ownTime } from "./fixtures/host";
import { DAY, MINUTE, SECOND, timed } from "./fixtures/timed";

const { actor, queue } = greenroom;

/** Works its queue off in `run`, answers each job with its double. */
const worker = actor({
  state: { done: [] as number[], runs: 0 },
  queues: { jobs: queue<number, { doubled: number }>(), notes: queue<string>() },
  // Longer than the way of a message through an engine takes.
  options: { sleepTimeout: onEngine ? 2_000 : 100 },
  run: async (c) => {
    c.state.runs++;
    for await (const job of c.queue.iter({ names: ["jobs"], completable: true })) {
      c.state.done.push(job.body);
      await job.complete({ doubled: job.body * 2 });
    }
  },
  actions: {
    report: (c) => ({ ...c.state }),
    notes: async (c) => (await c.queue.nextBatch({ names: ["notes"], count: 10, timeout: 0 })).map((note) => note.body),
  },
});

describe("a client's message", () => {
  test("is worked off, and its answer comes back: inside the process and in every encoding", async () => {
    const { local, clientIn } = await served({ worker });
    const clients = [local, clientIn("bare"), clientIn("cbor"), clientIn("json")];
    for (const [at, client] of clients.entries()) {
      const handle = client.worker.getOrCreate("a");
      expect(await handle.send("jobs", at, { wait: true, timeout: 10_000 })).toEqual({
        status: "completed",
        response: { doubled: at * 2 },
      });
      expect(await handle.queue.send("notes", `note ${at}`)).toBeUndefined();
    }
    const handle = local.worker.get("a");
    expect(await handle.notes()).toEqual(["note 0", "note 1", "note 2", "note 3"]);
    expect((await handle.report()).done).toEqual([0, 1, 2, 3]);
  });

  test("that nobody completes in time says so, and stays", async () => {
    const slow = actor({
      queues: { jobs: queue<number>() },
      actions: { take: async (c) => (await c.queue.tryNext())?.body },
    });
    const { local, clientIn } = await served({ slow });
    for (const client of [local, clientIn("bare")]) {
      const handle = client.slow.getOrCreate("a");
      expect(await handle.send("jobs", 7, { wait: true, timeout: 20 })).toEqual({ status: "timedOut" });
      expect(await handle.take()).toBe(7);
    }
  });

  test("whose sender gives up stays in the queue", async () => {
    const arrived = event();
    const slow = actor({
      queues: { jobs: queue<number>() },
      run: async (c) => {
        await c.queue.waitForAvailable(["jobs"]);
        arrived.happen();
      },
      actions: { take: async (c) => (await c.queue.tryNext())?.body },
    });
    const handle = registryOf({ slow }).client().slow.getOrCreate("a");
    const controller = new AbortController();
    const sent = handle.send("jobs", 7, { wait: true, signal: controller.signal });
    await arrived.promise;
    controller.abort(new Error("enough"));
    await expect(sent).rejects.toThrow("enough");
    expect(await handle.take()).toBe(7);
  });

  test("is refused by canPublish, by its schema, and dropped if its queue is not declared", async () => {
    const positive = {
      "~standard": {
        version: 1 as const,
        vendor: "test",
        validate: (value: unknown) =>
          typeof value === "number" && value > 0 ? { value } : { issues: [{ message: "must be positive" }] },
      },
    };
    const guarded = actor({
      connState: { admin: false },
      queues: {
        open: queue<number>({ message: positive }),
        secret: queue<string>({ canPublish: (c) => c.conn.params?.token === "t" }),
      },
      actions: { stats: async (c) => (await c.queue.stats()).depth },
    });
    const { local, clientIn } = await served({ guarded });
    for (const client of [local, clientIn("bare")]) {
      const anyone = client.guarded.getOrCreate("a");
      await expect(anyone.send("secret", "x")).rejects.toMatchObject({ group: "auth", code: "forbidden" });
      await expect(anyone.send("open", -1)).rejects.toMatchObject({
        group: "queue",
        code: "validation_failed",
        // By way of an engine the sender is a stranger.
        ...(!onEngine && { metadata: { issues: [{ message: "must be positive" }] } }),
      });
      // @ts-expect-error: no such queue; plain JavaScript sends it all the same.
      await anyone.send("unknown", 1);
      expect(await anyone.stats()).toBe(0);
      await client.guarded.get("a", { params: { token: "t" } }).send("secret", "x");
      expect(await anyone.stats()).toBe(1);
      await client.guarded.get("a").action({ name: "stats", args: [] });
      break;
    }
  });

  test("wakes an actor that fell asleep while its run handler was parked on the queue", async () => {
    const slept = [event(), event()];
    let sleeps = 0;
    const parked = actor({
      state: { done: [] as number[] },
      queues: { jobs: queue<number>() },
      options: { sleepTimeout: 50 },
      onSleep: () => slept[sleeps++]?.happen(),
      run: async (c) => {
        for await (const job of c.queue.iter()) {
          c.state.done.push(job.body);
          await c.saveState({ immediate: true });
        }
      },
      actions: { done: (c) => c.state.done },
    });
    const handle = registryOf({ parked }).client().parked.getOrCreate("a");
    await handle.send("jobs", 1);
    await slept[0]?.promise;
    await handle.send("jobs", 2);
    await slept[1]?.promise;
    expect(await handle.done()).toEqual([1, 2]);
  });
});

describe("c.queue", () => {
  /** Runs a body inside an actor with these queues. */
  const inside = <Q extends Record<string, any>>(queues: Q, options: object = {}) => {
    let body: (c: any) => Promise<unknown> = async () => undefined;
    const lab = actor({ queues: queues as any, options, actions: { run: async (c) => (await body(c)) as any } });
    const handle = registryOf({ lab }).client().lab.getOrCreate("a");
    return async <T>(use: (c: any) => Promise<T>): Promise<T> => {
      body = use;
      return (await handle.run()) as T;
    };
  };

  test("gives overlapping waiters each a message, in the order they came", async () => {
    const run = inside({ a: queue(), b: queue() });
    const got = await run(async (c) => {
      const both = c.queue.next({ names: ["a", "b"], timeout: 5_000 });
      const onlyB = c.queue.next({ names: ["b"], timeout: 5_000 });
      const any = c.queue.next({ timeout: 5_000 });
      for (const name of ["b", "b", "a"]) await c.queue.send(name, name);
      return (await Promise.all([both, onlyB, any])).map((message: any) => [message.id, message.name]);
    });
    expect(got).toEqual([
      [1n, "b"],
      [2n, "b"],
      [3n, "a"],
    ]);
  });

  test("loses no message when waits time out as it arrives", async () => {
    const run = inside({ jobs: queue<number>() });
    const received = await run(async (c) => {
      const bodies: number[] = [];
      let sent = 0;
      const sender = (async () => {
        for (; sent < 300; sent++) await c.queue.send("jobs", sent);
      })();
      while (bodies.length < 300) {
        const batch = await c.queue.nextBatch({ count: 3, timeout: bodies.length % 3 });
        bodies.push(...batch.map((message: any) => message.body));
      }
      await sender;
      return bodies;
    });
    expect(received).toEqual(Array.from({ length: 300 }, (_, i) => i));
  });

  test("takes 100,000 messages and gives them back in order", { timeout: 120_000 }, async () => {
    const run = inside({ jobs: queue<number>() }, { maxQueueSize: 100_000, actionTimeout: 120_000 });
    const TOTAL = 100_000;
    const wrong = await run(async (c) => {
      for (let at = 0; at < TOTAL; at += 5_000) {
        await Promise.all(Array.from({ length: 5_000 }, (_, i) => c.queue.send("jobs", at + i)));
      }
      await c.queue.send("jobs", -1).then(
        () => "the limit did not hold",
        (error: any) => error.code,
      );
      let next = 0;
      while (next < TOTAL) {
        for (const { body } of await c.queue.nextBatch({ count: 5_000, timeout: 0 })) {
          if (body !== next++) return `${body} instead of ${next - 1}`;
        }
      }
      return (await c.queue.tryNext()) === undefined ? "" : "more than was sent";
    });
    expect(wrong).toBe("");
  });

  test("ends its loop quietly when the actor stops", async () => {
    const ended = event<string>();
    const loops = actor({
      queues: { jobs: queue<number>() },
      run: async (c) => {
        for await (const _ of c.queue.iter());
        ended.happen("quietly");
      },
      actions: { go: (c) => c.sleep() },
    });
    await registryOf({ loops }).client().loops.getOrCreate("a").go();
    expect(await ended.promise).toBe("quietly");
  });
});

describe("a queue with leases", ownTime, () => {
  const worked: [number, number, string][] = [];
  const leased = actor({
    queues: {
      jobs: queue<string>({ maxAttempts: 3, visibilityTimeout: 30 * SECOND, backoff: { initial: SECOND, factor: 10 } }),
      quick: queue<string>({ maxAttempts: 1, deadLetter: false }),
    },
    // Sleep is another test's.
    options: { noSleep: true },
    actions: {
      put: async (c, ...bodies: string[]) => {
        for (const body of bodies) await c.queue.send("jobs", body);
      },
      take: async (c, what: "complete" | "retry" | "fail" | "forget") => {
        const job = await c.queue.next({ names: ["jobs"], completable: true, timeout: 0 });
        if (job === undefined) return undefined;
        worked.push([job.attempt, Number(job.id), what]);
        if (what === "complete") await job.complete();
        if (what === "retry") await job.retry({ reason: "not now" });
        if (what === "fail") await job.fail("hopeless");
        return [job.body, job.attempt] as const;
      },
      several: async (c) => {
        const jobs = await c.queue.nextBatch({ names: ["jobs"], completable: true, count: 2 });
        const third = await c.queue.tryNext({ names: ["jobs"], completable: true });
        return [jobs.length, third?.body];
      },
      stats: (c) => c.queue.stats("jobs"),
      dead: (c) => c.queue.deadLetters.list({ name: "jobs" }),
      replay: (c) => c.queue.deadLetters.replay(),
      purge: (c) => c.queue.deadLetters.purge({ name: "jobs" }),
      twice: async (c) => {
        const job = await c.queue.next({ names: ["jobs"], completable: true });
        await job?.complete();
        await job?.complete();
      },
    },
  });

  test("delivers again what was not completed in time, and hides it until then", async () => {
    const { client, advance } = timed({ leased });
    const handle = client.leased.getOrCreate("a");
    await handle.put("one");
    expect(await handle.take("forget")).toEqual(["one", 1]);
    expect(await handle.take("forget")).toBeUndefined();
    expect(await handle.stats()).toMatchObject({ depth: 1, inFlight: 1, delayed: 0, dead: 0 });
    await advance(29 * SECOND);
    expect(await handle.take("forget")).toBeUndefined();
    await advance(SECOND);
    expect(await handle.take("complete")).toEqual(["one", 2]);
    expect(await handle.stats()).toMatchObject({ depth: 0, inFlight: 0 });
  });

  test("pauses after a retry, and gives up after the last attempt", async () => {
    const { client, advance, now } = timed({ leased });
    const handle = client.leased.getOrCreate("a");
    await handle.put("one", "two");
    expect(await handle.take("retry")).toEqual(["one", 1]);
    // The next one is not held up.
    expect(await handle.take("complete")).toEqual(["two", 1]);
    expect(await handle.stats()).toMatchObject({ depth: 1, inFlight: 0, delayed: 1 });
    await advance(SECOND);
    expect(await handle.take("retry")).toEqual(["one", 2]);
    await advance(9 * SECOND);
    expect(await handle.take("retry")).toBeUndefined();
    await advance(SECOND);
    expect(await handle.take("retry")).toEqual(["one", 3]);
    expect(await handle.dead()).toEqual([
      {
        id: 1n,
        name: "jobs",
        body: "one",
        createdAt: now() - 11 * SECOND,
        attempts: 3,
        reason: "not now",
        diedAt: now(),
      },
    ]);
    expect(await handle.stats()).toMatchObject({ depth: 0, dead: 1 });
    expect(await handle.replay()).toBe(1);
    expect(await handle.take("fail")).toEqual(["one", 1]);
    expect(await handle.dead()).toMatchObject([{ attempts: 1, reason: "hopeless" }]);
    expect(await handle.purge()).toBe(1);
    expect(await handle.dead()).toEqual([]);
  });

  test("leases several at once, and refuses a second completion", async () => {
    const { client } = timed({ leased });
    const handle = client.leased.getOrCreate("a");
    await handle.put("one", "two", "three");
    expect(await handle.several()).toEqual([2, "three"]);
    await handle.put("four");
    await expect(handle.twice()).rejects.toMatchObject({ group: "queue", code: "already_completed" });
  });

  test("tells its age", async () => {
    const { client, advance } = timed({ leased });
    const handle = client.leased.getOrCreate("a");
    expect(await handle.stats()).not.toHaveProperty("oldestAge");
    await handle.put("one");
    await advance(5 * MINUTE);
    expect((await handle.stats()).oldestAge).toBe(5 * MINUTE);
  });

  test("keeps leases and dead letters over a crash of the process, and ends the dead generation's leases", async () => {
    const dataDir = temporaryFolder();
    const first = timed({ leased }, { dataDir });
    const before = first.client.leased.getOrCreate("a");
    await before.put("one", "two");
    expect(await before.take("fail")).toEqual(["one", 1]);
    expect(await before.take("forget")).toEqual(["two", 1]);
    const start = first.now();
    await first.crash();
    const second = timed({ leased }, { dataDir, start });
    const after = second.client.leased.get("a");
    expect(await after.dead()).toMatchObject([{ body: "one" }]);
    expect(await after.take("complete")).toEqual(["two", 2]);
  });

  test("is woken for a redelivery when it sleeps", async () => {
    const attempts: number[] = [];
    const second = event();
    const sleepy = actor({
      queues: { jobs: queue<string>({ visibilityTimeout: DAY }) },
      options: { sleepTimeout: 100 },
      run: async (c) => {
        for await (const job of c.queue.iter({ completable: true })) {
          attempts.push(job.attempt);
          if (job.attempt === 1) await job.retry({ after: 10 * MINUTE });
          else await job.complete().then(second.happen);
        }
      },
    });
    const { client, advance } = timed({ sleepy });
    await client.sleepy.getOrCreate("a").send("jobs", "x");
    await advance(MINUTE);
    expect(attempts).toEqual([1]);
    await advance(10 * MINUTE);
    await second.promise;
    expect(attempts).toEqual([1, 2]);
  });
});

describe("a definition", () => {
  test.each([
    [{ maxAttempts: 0 }, "queues.jobs.maxAttempts"],
    [{ maxAttempts: 1.5 }, "queues.jobs.maxAttempts"],
    [{ visibilityTimeout: -1 }, "queues.jobs.visibilityTimeout"],
    [{ backoff: "soon" }, "queues.jobs.backoff"],
    [{ backoff: { factor: 0 } }, "queues.jobs.backoff.factor"],
    [{ backoff: { intial: 1 } }, "queues.jobs.backoff.intial"],
    [{ deadLetter: "yes" }, "queues.jobs.deadLetter"],
    [{ maxAttemps: 3 }, "queues.jobs.maxAttemps"],
  ])("with the queue options %j is refused by name", (options, option) => {
    const define = () => actor({ queues: { jobs: queue(options as any) } });
    expect(define).toThrow(
      expect.objectContaining({ code: "invalid_definition", metadata: expect.objectContaining({ option }) }),
    );
  });
});
