/** Starts, saves and ends that go wrong, cross each other or take too long. */
import { describe, expect, test } from "vitest";
import { event, greenroom, kitOf, registryOf, temporaryFolder } from "./fixtures/greenroom";
import { onEngine, ownTime, unlessOnEngine } from "./fixtures/host";

const { actor, db, setup, UserError } = greenroom;

const kit = unlessOnEngine("a test kit has a host of its own");

const never = () => new Promise<never>(() => {});

/** Moves a kit's clock until the promise has settled. */
async function advancing<T>(kit: { advance(span: number): Promise<void> }, promise: Promise<T>): Promise<T> {
  let settled = false;
  const done = () => {
    settled = true;
  };
  promise.then(done, done);
  for (let step = 0; step < 200 && !settled; step++) await kit.advance(5_000);
  return promise;
}

describe("a start that fails", () => {
  const HOOKS = ["onMigrate", "createState", "onCreate", "createVars", "onWake", "onBeforeActorStart"] as const;

  /** An actor whose start does what `misbehave` does, in one hook. */
  function failing(hook: (typeof HOOKS)[number], misbehave: () => unknown) {
    const seen: string[] = [];
    let broken = true;
    const run = (name: string, value: unknown, isNew?: boolean) => {
      seen.push(isNew === undefined ? name : `${name} ${isNew}`);
      return broken && name === hook ? misbehave() : value;
    };
    const thing = actor({
      onMigrate: (_c, isNew) => run("onMigrate", undefined, isNew) as undefined,
      createState: () => run("createState", { n: 7 }) as { n: number },
      onCreate: () => run("onCreate", undefined) as undefined,
      createVars: () => run("createVars", {}) as object,
      onWake: () => run("onWake", undefined) as undefined,
      onBeforeActorStart: () => run("onBeforeActorStart", undefined) as undefined,
      actions: { get: (c: any) => c.state.n },
    });
    return { thing, seen, mend: () => (broken = false) };
  }

  test.each(HOOKS)(
    "because %s throws: it is tried again, the caller hears why, and a later call starts anew",
    async (hook) => {
      const { thing, seen, mend } = failing(hook, () => {
        throw new UserError("not today", { code: "not_today" });
      });
      const handle = registryOf({ thing }).client().thing.getOrCreate(["a"]);
      await expect(handle.get()).rejects.toMatchObject({
        code: "actor_wake_retries_exceeded",
        // An engine gives its own reason, and keeps the actor's to itself.
        metadata: onEngine ? { reason: "actor_stopped_before_ready" } : { error: { code: "not_today" } },
      });
      mend();
      seen.length = 0;
      expect(await handle.get()).toBe(7);
      // Nothing counts as created before the hooks of creation have run.
      const created = HOOKS.indexOf(hook) > HOOKS.indexOf("onCreate");
      const creation = created ? ["onMigrate false"] : ["onMigrate true", "createState", "onCreate"];
      expect(seen).toEqual([...creation, "createVars", "onWake", "onBeforeActorStart"]);
    },
  );

  test.each(HOOKS)(
    "because %s hangs: it is given up at its timeout, and works once it does not",
    ownTime,
    async (hook) => {
      const { thing, seen, mend } = failing(hook, never);
      const kit = await kitOf(setup({ use: { thing } }), { clock: "manual" });
      const handle = kit.client.thing.getOrCreate(["a"]);
      const call = handle.get().catch((error: any) => error);
      // A short timeout is met twice before the caller gives up, a long one once.
      const enough = hook === "onMigrate" || hook === "onWake" ? 1 : 2;
      while (seen.filter((name) => name.startsWith(hook)).length < enough) await kit.advance("1s");
      await kit.advance("31s");
      mend();
      const answer = await advancing(kit, call);
      // It gave up waiting, or met the start that worked.
      if (answer !== 7) expect(answer).toMatchObject({ group: "guard" });
      expect(await advancing(kit, handle.get())).toBe(7);
    },
  );
});

describe("destroy() inside a hook", () => {
  const HOOKS = [
    ...["onMigrate", "createState", "onCreate", "createVars", "onWake", "onBeforeActorStart"],
    ...["run", "onStateChange", "onSleep"],
  ];

  test.each(HOOKS)("%s: the actor is destroyed, once, and its key makes another", async (hook) => {
    const gone = event();
    let destroyed = 0;
    let armed = true;
    const maybe = (c: any, name: string) => {
      if (!armed || name !== hook) return;
      armed = false;
      c.destroy();
    };
    const thing: any = actor({
      onMigrate: (c: any) => maybe(c, "onMigrate"),
      createState: (c: any) => (maybe(c, "createState"), { n: 0 }),
      onCreate: (c: any) => maybe(c, "onCreate"),
      createVars: (c: any) => (maybe(c, "createVars"), {}),
      onWake: (c: any) => maybe(c, "onWake"),
      onBeforeActorStart: (c: any) => maybe(c, "onBeforeActorStart"),
      onStateChange: (c: any) => maybe(c, "onStateChange"),
      onSleep: (c: any) => maybe(c, "onSleep"),
      run: async (c: any) => maybe(c, "run"),
      onDestroy: () => {
        destroyed++;
        gone.happen();
      },
      actions: {
        add: (c: any) => ++c.state.n,
        sleep: (c: any) => c.sleep(),
      },
    } as any);
    const handle: any = registryOf({ thing }).client().thing.getOrCreate(["a"]);
    const first = await Promise.allSettled([handle.resolve(), handle.add()]);
    if (hook === "onSleep") await handle.sleep().catch(() => {});
    if (hook !== "onSleep") await gone.promise;
    // Whoever came too early for the end may be told so; nobody hangs.
    let n: number | undefined;
    for (let attempt = 0; attempt < 100 && n === undefined; attempt++) {
      n = await handle.add().catch((error: any) => {
        expect(["destroying", "stopping", "not_found", "dropped_reply"]).toContain(error.code);
        return undefined;
      });
      if (n === undefined) await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(first).toHaveLength(2);
    expect(n).toBeGreaterThan(0);
    if (hook !== "onSleep") expect(destroyed).toBe(1);
  });

  test("onDestroy: a second destroy is refused and changes nothing", async () => {
    const answers: string[] = [];
    const gone = event();
    const thing = actor({
      state: { n: 0 },
      onDestroy: (c) => {
        try {
          c.destroy();
          answers.push("done");
        } catch (error) {
          answers.push((error as { code: string }).code);
        }
        gone.happen();
      },
      actions: { end: (c) => c.destroy() },
    });
    await registryOf({ thing }).client().thing.getOrCreate(["a"]).end();
    await gone.promise;
    expect(answers).toEqual(["stopping"]);
  });
});

describe("work that outlasts the grace period", ownTime, () => {
  test("is cut: its caller gets an error in time, the state is saved, and the late end does no harm", async () => {
    const release = event();
    const parked = event();
    const ended = event();
    const thing = actor({
      state: { n: 0 },
      options: { sleepGracePeriod: 1_000 },
      actions: {
        hold: async (c) => {
          c.state.n = 5;
          parked.happen();
          await release.promise;
          c.state.n = 6;
          ended.happen();
          return "late";
        },
        sleep: (c) => c.sleep(),
        get: (c) => c.state.n,
      },
    });
    const kit = await kitOf(setup({ use: { thing } }), { clock: "manual" });
    const handle = kit.client.thing.getOrCreate(["a"]);
    const held = expect(handle.hold()).rejects.toMatchObject({ group: "actor" });
    await parked.promise;
    await handle.sleep();
    await kit.advance("900ms");
    expect(await handle.get()).toBe(5);
    await kit.advance("30s");
    await held;
    expect(await handle.get()).toBe(5);
    release.happen();
    await ended.promise;
    expect(await handle.get()).toBe(5);
  });

  test.each(["onSleep", "onDestroy"])("%s that hangs does not hold up the end", async (hook) => {
    const thing = actor({
      state: { n: 0 },
      options: { sleepGracePeriod: 1_000 },
      [hook]: never,
      actions: {
        add: (c: any) => ++c.state.n,
        end: (c: any) => (hook === "onSleep" ? c.sleep() : c.destroy()),
      },
    } as any) as any;
    const kit = await kitOf(setup({ use: { thing } }), { clock: "manual" });
    const handle = (kit.client as any).thing.getOrCreate(["a"]);
    await handle.add();
    await handle.end();
    await kit.advance("2s");
    expect(await handle.add()).toBe(hook === "onSleep" ? 2 : 1);
  });
});

describe("saves", kit, () => {
  test("200 that wait at once are all answered with their state on disk", async () => {
    const thing = actor({
      state: { n: 0 },
      actions: {
        add: async (c) => {
          const n = ++c.state.n;
          await c.saveState({ immediate: true });
          return n;
        },
        get: (c) => c.state.n,
      },
    });
    const kit = await kitOf(setup({ use: { thing } }));
    const handle = kit.client.thing.getOrCreate(["a"]);
    const answers = await Promise.all(Array.from({ length: 200 }, () => handle.add()));
    expect([...answers].sort((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, at) => at + 1));
    await kit.crash();
    expect(await handle.get()).toBe(200);
  });

  test("asked for while one is in flight cover what changed meanwhile", async () => {
    const thing = actor({
      state: { n: 0 },
      actions: {
        race: async (c) => {
          const saves: Promise<void>[] = [];
          for (let round = 0; round < 20; round++) {
            c.state.n++;
            saves.push(c.saveState({ immediate: true }));
            if (round % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
          }
          await Promise.all(saves);
        },
        get: (c) => c.state.n,
      },
    });
    const kit = await kitOf(setup({ use: { thing } }));
    const handle = kit.client.thing.getOrCreate(["a"]);
    await handle.race();
    await kit.crash();
    expect(await handle.get()).toBe(20);
  });
});

/** Counts, on disk before it answers. */
const adder = (more: { onWake(): void; options?: { sleepGracePeriod: number } }) =>
  actor({
    state: { n: 0 },
    ...more,
    actions: {
      add: async (c) => {
        const n = ++c.state.n;
        await c.saveState({ immediate: true });
        return n;
      },
      sleep: (c) => c.sleep(),
      get: (c) => c.state.n,
    },
  });

describe("calls that race with sleep()", () => {
  test("are each answered, by one generation or the next, and none counts twice", async () => {
    let wakes = 0;
    const thing = adder({ onWake: () => void wakes++ });
    const handle = registryOf({ thing }).client().thing.getOrCreate(["a"]);
    let answered = 0;
    // A sleep and a wake take an engine some tenths of a second.
    const ROUNDS = onEngine ? 5 : 20;
    for (let round = 0; round < ROUNDS; round++) {
      const calls = Array.from({ length: 16 }, () => handle.add());
      calls.splice(8, 0, handle.sleep() as Promise<never>);
      const results = await Promise.allSettled(calls);
      for (const [at, result] of results.entries()) {
        expect(result.status, `call ${at}: ${(result as { reason?: unknown }).reason}`).toBe("fulfilled");
      }
      answered += 16;
    }
    expect(await handle.get()).toBe(answered);
    expect(wakes).toBeGreaterThan(ROUNDS / 4);
  });
});

describe("work that goes on when the actor falls asleep", () => {
  const book = db({ onMigrate: (d: any) => d.execute("create table if not exists book (who text)") });

  /** Writes twice, and does not hurry: whoever ends the transaction meanwhile is found out. */
  const write = (c: any, who: string) =>
    c.db.transaction(async (tx: any) => {
      await tx.run("insert into book (who) values (?)", who);
      for (let pause = 0; pause < 20; pause++) await new Promise((resolve) => setTimeout(resolve, 1));
      await tx.run("insert into book (who) values (?)", who);
    });

  test("keeps its transaction: run, and onSleep itself", async () => {
    const failures: unknown[] = [];
    const noting = (work: Promise<void>) => work.catch((error) => void failures.push(error));
    const thing = actor({
      state: {},
      db: book,
      run: async (c) => {
        await new Promise((resolve) => c.abortSignal.addEventListener("abort", resolve));
        await noting(write(c, "run"));
      },
      onSleep: (c) => noting(write(c, "onSleep")),
      actions: {
        sleep: (c) => c.sleep(),
        read: (c) => c.db.query("select who, count(*) as n from book group by who order by who"),
      },
    });
    const dataDir = temporaryFolder();
    const first = registryOf({ thing }, { dataDir });
    await first.client().thing.getOrCreate(["a"]).sleep();
    await first.shutdown();
    const second = registryOf({ thing }, { dataDir });
    expect(await second.client().thing.getOrCreate(["a"]).read()).toEqual([
      { who: "onSleep", n: 2 },
      { who: "run", n: 2 },
    ]);
    expect(failures).toEqual([]);
  });

  test("keeps its transaction: calls that came in before and during the grace", async () => {
    let sleeps = 0;
    const thing = actor({
      state: { n: 0 },
      db: book,
      onSleep: () => void sleeps++,
      actions: {
        write: (c) => c.db.transaction((tx: any) => tx.run("insert into book (who) values ('write')")),
        both: (c) =>
          c.db.transaction(
            async (tx: any) => {
              await tx.run("insert into book (who) values ('both')");
              c.state.n++;
            },
            { includeState: true },
          ),
        sleep: (c) => c.sleep(),
        read: async (c) => [c.state.n, (await c.db.query("select count(*) as n from book"))[0]],
      },
    });
    const handle = registryOf({ thing }).client().thing.getOrCreate(["a"]);
    const ROUNDS = onEngine ? 10 : 100;
    for (let round = 0; round < ROUNDS; round++) {
      await Promise.all([handle.write(), handle.sleep(), handle.both(), handle.write(), handle.both()]);
    }
    expect(await handle.read()).toEqual([2 * ROUNDS, { n: 4 * ROUNDS }]);
    expect(sleeps).toBeGreaterThan(ROUNDS / 10);
  });

  test("is not cut when calls never pause: in the end they wait for the next generation", async () => {
    let wakes = 0;
    let over = false;
    const thing = adder({ options: { sleepGracePeriod: 4_000 }, onWake: () => void wakes++ });
    const handle = registryOf({ thing }).client().thing.getOrCreate(["a"]);
    let answered = 0;
    const caller = async () => {
      while (!over) {
        await handle.add();
        answered++;
      }
    };
    const callers = Promise.all(Array.from({ length: 8 }, caller));
    await handle.sleep();
    while (wakes < 2) await Promise.race([callers, new Promise((resolve) => setTimeout(resolve, 5))]);
    over = true;
    await callers;
    expect(await handle.get()).toBe(answered);
  });
});

describe("run", ownTime, () => {
  test.each(["returns", "throws"])(
    "that %s is no crash: the actor serves on and falls asleep when idle",
    async (how) => {
      const notes: string[] = [];
      const thing = actor({
        state: { n: 0 },
        options: { sleepTimeout: 30_000 },
        run: async () => {
          notes.push("run");
          if (how === "throws") throw new Error("run failed");
        },
        onSleep: () => void notes.push("sleep"),
        onDestroy: () => void notes.push("destroy"),
        actions: { add: (c) => ++c.state.n },
      });
      const kit = await kitOf(setup({ use: { thing } }), { clock: "manual" });
      const handle = kit.client.thing.getOrCreate(["a"]);
      expect(await handle.add()).toBe(1);
      await kit.advance("29s");
      expect(notes).toEqual(["run"]);
      await kit.advance("2s");
      expect(notes).toEqual(["run", "sleep"]);
      expect(await handle.add()).toBe(2);
      expect(notes).toEqual(["run", "sleep", "run"]);
    },
  );

  test("that goes on keeps the actor awake", async () => {
    const release = event();
    const notes: string[] = [];
    const thing = actor({
      state: {},
      run: () => release.promise,
      onSleep: () => void notes.push("sleep"),
      actions: { ping: () => "pong" },
    });
    const kit = await kitOf(setup({ use: { thing } }), { clock: "manual" });
    await kit.client.thing.getOrCreate(["a"]).ping();
    await kit.advance("10m");
    expect(notes).toEqual([]);
    release.happen();
    await new Promise((resolve) => setImmediate(resolve));
    await kit.advance("31s");
    expect(notes).toEqual(["sleep"]);
  });
});
