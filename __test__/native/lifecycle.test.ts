import { describe, expect, test } from "vitest";
import { bridged, decode, encode, event, failure, nothingToSave, stage, thrown } from "./addon";

const napping = { nap: (_: unknown, { ctx }: any) => (ctx.sleep(), encode(null)), fine: () => encode(1) };

describe("a generation", () => {
  test("starts with its hooks in order, new and woken", async () => {
    const log: unknown[] = [];
    const note = (name: string, result?: unknown) => (_: unknown, payload: any) => {
      log.push("input" in payload ? [name, payload.input] : "isNew" in payload ? [name, payload.isNew] : name);
      return result;
    };
    const slept = event();
    const { call } = await stage({
      onMigrate: note("onMigrate"),
      createState: note("createState", encode({})),
      onCreate: note("onCreate"),
      createVars: note("createVars"),
      onWake: note("onWake"),
      onBeforeActorStart: note("onBeforeActorStart"),
      onSleep: () => slept.happen(),
      actions: { ...napping, act: () => (log.push("act"), encode(1)) },
    });
    await call("act");
    const woken = ["createVars", "onWake", "onBeforeActorStart", "act"];
    expect(log.splice(0)).toEqual([["onMigrate", true], ["createState", null], ["onCreate", null], ...woken]);
    await call("nap");
    await slept.promise;
    // The generation may still take a call while it goes down.
    while (log.length < 2) await call("act");
    const seen = log.filter((entry) => entry !== "act");
    expect(seen).toEqual([["onMigrate", false], "createVars", "onWake", "onBeforeActorStart"]);
  });

  test("gets the input of the call that created it", async () => {
    const inputs: unknown[] = [];
    const { registry } = await stage({
      createState: (_: unknown, { input }: any) => (inputs.push(decode(input)), encode({})),
      onCreate: (_: unknown, { input }: any) => void inputs.push(decode(input)),
      actions: napping,
    });
    const target = { name: "thing", key: ["b"], method: "getOrCreate" as const, input: encode({ size: 1 }) };
    await registry.localAction(target, "fine", encode([]));
    expect(inputs).toEqual([{ size: 1 }, { size: 1 }]);
  });

  test("has one bag and one identity for all handles, and the next has others", async () => {
    const contexts: any[] = [];
    const { call } = await stage({
      onWake: (_: unknown, { ctx }: any) => void contexts.push(ctx),
      actions: { ...napping, look: (_: unknown, { ctx }: any) => (contexts.push(ctx), encode(ctx.actorId())) },
    });
    const id = await call("look");
    const [first, second] = contexts;
    expect(first.sameActorInstance(second)).toBe(true);
    expect(first.runtimeState()).toBe(second.runtimeState());
    expect([first.actorId(), first.name(), first.region()]).toEqual([id, "thing", ""]);
    expect(first.key()).toEqual([{ kind: "string", stringValue: "a" }]);
    const bag = first.runtimeState();
    first.clearRuntimeState();
    expect(first.runtimeState()).not.toBe(bag);
    await call("nap");
    // Grace still answers calls: the next generation is there once its `onWake` ran.
    while (first.sameActorInstance(contexts.at(-1))) await call("look");
    const next = contexts.at(-1);
    expect(next.runtimeState()).not.toBe(first.runtimeState());
    expect(next.actorId()).toBe(id);
  });

  test("fires every abort signal when it ends, and late ones at once", async () => {
    const slept = event();
    let context: any;
    const { call, registry } = await stage({
      onSleep: () => slept.promise,
      actions: { ...napping, hold: (_: unknown, { ctx }: any) => ((context = ctx), encode(1)) },
    });
    await call("hold");
    const signals: AbortSignal[] = [context.abortSignal(), context.abortSignal()];
    expect(signals[0]).toBeInstanceOf(AbortSignal);
    expect(signals[0]).not.toBe(signals[1]);
    expect([context.aborted(), signals[0]?.aborted]).toEqual([false, false]);
    const fired = Promise.all(
      signals.map((signal) => new Promise((resolve) => signal.addEventListener("abort", resolve))),
    );
    const ended = registry.shutdown();
    await fired;
    expect(context.aborted()).toBe(true);
    const late: AbortSignal = context.abortSignal();
    await new Promise((resolve) => (late.aborted ? resolve(0) : late.addEventListener("abort", resolve)));
    slept.happen();
    await ended;
  });

  test("may save, twice, while onSleep runs, and answers what was still running", async () => {
    const saves: number[] = [];
    const slow = event();
    const { call, registry } = await stage({
      createState: () => encode(0),
      serializeState: () => (saves.push(1), { ...nothingToSave, state: encode(saves.length) }),
      onSleep: async (_: unknown, { ctx }: any) => {
        await ctx.requestSaveAndWait({ immediate: true });
        slow.happen();
        expect(await ctx.waitForTrackedShutdownWork()).toBe(true);
        await ctx.requestSaveAndWait({ immediate: true });
        ctx.clearRuntimeState();
      },
      actions: { slow: async () => (await slow.promise, encode("done")), fine: () => encode(1) },
    });
    await call("fine");
    const answer = call("slow");
    await new Promise((resolve) => setTimeout(resolve, 20));
    await registry.shutdown();
    expect(await answer).toBe("done");
    expect(saves.length).toBe(2);
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("mine");
      },
    ],
    [
      "rejects",
      async () => {
        throw bridged({ group: "user", code: "x", message: "y" });
      },
    ],
    ["hangs", () => new Promise(() => {})],
  ])("ends all the same when onSleep %s", async (_, onSleep) => {
    const { call, registry } = await stage({ onSleep, actions: napping }, { sleepGracePeriodMs: 50 });
    await call("fine");
    await registry.shutdown();
  });

  test("that is destroyed runs onDestroy, and its key is free", async () => {
    const log: string[] = [];
    const { call, registry, target } = await stage({
      onDestroy: (_: unknown, { ctx }: any) => void log.push(`destroy ${ctx.destroyRequested()}`),
      onSleep: () => void log.push("sleep"),
      actions: {
        ...napping,
        id: (_: unknown, { ctx }: any) => encode(ctx.actorId()),
        end: (_: unknown, { ctx }: any) => {
          ctx.destroy();
          const second = thrown(() => ctx.destroy());
          return encode(`${second.group}.${second.code}`);
        },
      },
    });
    const id = await call("id");
    expect(await call("end")).toBe("actor.stopping");
    const next = await call("id");
    expect(next).not.toBe(id);
    expect(log).toEqual(["destroy true"]);
    expect(await registry.localResolve(target)).toBe(next);
  });

  test("falls asleep when idle, but not while something keeps it awake", async () => {
    const log: string[] = [];
    const slept = event();
    const done = event();
    const { call } = await stage(
      {
        onSleep: () => (log.push("sleep"), slept.happen()),
        actions: {
          keep: (_: unknown, { ctx }: any) => {
            const region = ctx.beginKeepAwake();
            ctx.keepAwake(done.promise);
            setTimeout(() => ctx.endKeepAwake(region), 30);
            done.promise.then(() => log.push("done"));
            return encode([region, ctx.beginWebsocketCallback()]);
          },
          free: (_: unknown, { ctx }: any) => (ctx.endWebsocketCallback(1), encode(null)),
        },
      },
      { sleepTimeoutMs: 60 },
    );
    expect(await call("keep")).toEqual([1, 1]);
    await call("free");
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(log).toEqual([]);
    done.happen();
    await slept.promise;
    expect(log).toEqual(["done", "sleep"]);
  });

  test("takes promises only for its work", async () => {
    const refusals: string[] = [];
    const { call } = await stage({
      actions: {
        try: (_: unknown, { ctx }: any) => {
          for (const method of ["keepAwake", "waitUntil", "registerTask"]) {
            try {
              ctx[method](1);
            } catch (error: any) {
              refusals.push(`${method}: ${error.code} ${error.message}`);
            }
            ctx[method](Promise.reject(new Error("only logged")));
          }
          return encode(1);
        },
      },
    });
    await call("try");
    expect(refusals).toEqual([
      "keepAwake: InvalidArg Failed to call then method",
      "waitUntil: InvalidArg Failed to call then method",
      "registerTask: InvalidArg Failed to call then method",
    ]);
  });

  test("waits for registered tasks, and refuses them afterwards", async () => {
    const task = event();
    let context: any;
    const { call, registry } = await stage({
      actions: { go: (_: unknown, { ctx }: any) => ((context = ctx), ctx.registerTask(task.promise), encode(1)) },
    });
    await call("go");
    let ended = false;
    const end = registry.shutdown().then(() => (ended = true));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(ended).toBe(false);
    task.happen();
    await end;
    const late = thrown(() => context.registerTask(Promise.resolve()));
    expect(late.metadata.error).toBe("actor task registration is closed");
    context.keepAwake(Promise.resolve());
    context.waitUntil(Promise.resolve());
    expect((await failure(context.requestSaveAndWait())).metadata).toEqual({ component: "lifecycle events" });
    expect((await failure(context.connectConn(encode(null)))).code).toBe("not_configured");
    context.requestSave();
    expect(thrown(() => context.sleep()).code).toBe("stopping");
  });
});

describe("the run handler", () => {
  test("begins before the first action, and is given up when the actor sleeps", async () => {
    const log: string[] = [];
    const { call, registry } = await stage({
      run: async (_: unknown, { ctx }: any) => {
        log.push(`run ${ctx.runHandlerActive()}`);
        const signal: AbortSignal = ctx.abortSignal();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        log.push("aborted");
        return true;
      },
      actions: { act: () => (log.push("act"), encode(1)) },
    });
    await call("act");
    await registry.shutdown();
    expect(log).toEqual(["run true", "act", "aborted"]);
  });

  test("may fail and return without an end to the actor, and runs again on demand", async () => {
    let runs = 0;
    const again = event();
    const { call } = await stage({
      run: async () => {
        if (++runs === 1) throw new Error("mine");
        again.happen();
        return true;
      },
      actions: {
        fine: () => encode(1),
        restart: (_: unknown, { ctx }: any) => (ctx.restartRunHandler(), encode(1)),
      },
    });
    await call("fine");
    await call("restart");
    await again.promise;
    expect(runs).toBe(2);
  });

  test("cannot be restarted where there is none", async () => {
    const { call } = await stage({
      actions: { restart: (_: unknown, { ctx }: any) => (ctx.restartRunHandler(), encode(1)) },
    });
    expect((await failure(call("restart"))).metadata).toEqual({
      state: "run handler restart",
      reason: "not configured",
    });
  });
});

describe("connections", () => {
  test("can be made and dropped by user code", async () => {
    const closed: string[] = [];
    const { call } = await stage({
      onDisconnectFinal: (_: unknown, { conn }: any) => void closed.push(conn.id()),
      onConnect: (_: unknown, { request }: any) => {
        if (request?.headers.refuse) throw bridged({ group: "auth", code: "forbidden", message: "no" });
      },
      actions: {
        make: async (_: unknown, { ctx, conn: own }: any) => {
          const conn = await ctx.connectConn(encode(1), {
            method: "GET",
            uri: "/x",
            headers: { A: "b" },
            bodyStream: 1,
          });
          const ids = ctx.conns().map((c: any) => c.id());
          expect(ids).toEqual([...ids].sort());
          expect(ids).toContain(conn.id());
          conn.setState(encode(5));
          expect(decode(conn.state())).toBe(5);
          conn.send("event", encode([]));
          ctx.broadcast("event", encode([]));
          await conn.disconnect("bye");
          await conn.disconnect();
          const silent = await ctx.connectConn(encode(1));
          await ctx.disconnectConn(silent.id());
          await ctx.disconnectConn("unknown");
          const more = [await ctx.connectConn(encode(1)), await ctx.connectConn(encode(2))];
          await ctx.disconnectConns(({ conn: c }: any) => c.id() === more[0].id());
          const left = ctx
            .conns()
            .map((c: any) => c.id())
            .filter((id: string) => id !== own.id());
          expect(left).toEqual([more[1].id()]);
          await ctx.disconnectConns(async () => true);
          return encode(conn.id());
        },
        bad: (_: unknown, { ctx }: any) => ctx.connectConn(encode(1), { method: "NO WAY", uri: "/" }),
        refused: (_: unknown, { ctx }: any) =>
          ctx.connectConn(encode(1), { method: "GET", uri: "/", headers: { refuse: "1" } }),
        thrower: (_: unknown, { ctx }: any) =>
          ctx.disconnectConns(() => {
            throw new Error("mine");
          }),
      },
    });
    const id = await call("make");
    expect(closed).toContain(id);
    expect((await failure(call("bad"))).code).toBe("invalid_http_request");
    expect((await failure(call("refused"))).code).toBe("forbidden");
    expect((await failure(call("thrower"))).metadata.state).toBe("disconnect predicate");
  });
});

describe("what comes later", () => {
  test("says that it is not configured", async () => {
    const { call } = await stage({
      actions: {
        ask: async (_: unknown, { ctx }: any) => {
          const socket = await failure(ctx.provisionActorRuntimeSocket());
          return encode(`${socket.group}.${socket.code}`);
        },
      },
    });
    expect(await call("ask")).toBe("actor_runtime_socket.not_enabled");
  });
});
