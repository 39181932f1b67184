import { AsyncLocalStorage } from "node:async_hooks";
import { describe, expect, test } from "vitest";
import { bridged, decode, encode, event, failure, native, nothingToSave, stage } from "./addon";

/** An object with this `then`: foreign promises are what its users are about. */
// biome-ignore lint/suspicious/noThenProperty: it is what this is for
const thenable = (then: PropertyDescriptor) => Object.defineProperty({}, "then", then);

const facts = (error: any) => [error.group, error.code];

describe("an action", () => {
  test("gets the payload of the published addon", async () => {
    const seen = event<any>();
    const { call } = await stage({
      actions: { look: (error: unknown, payload: any) => (seen.happen([error, payload]), encode("ok")) },
    });
    expect(await call("look", 1, "two")).toBe("ok");
    const [error, payload] = await seen.promise;
    expect(error).toBeNull();
    expect(Object.keys(payload).sort()).toEqual(["args", "conn", "ctx", "scheduledFire"]);
    expect(payload.ctx).toBeInstanceOf(native.ActorContext);
    expect(payload.conn).toBeInstanceOf(native.ConnHandle);
    expect(payload.cancelToken).toBeInstanceOf(native.CancellationToken);
    expect(payload.scheduledFire).toBeUndefined();
    expect(Buffer.isBuffer(payload.args)).toBe(true);
    expect(decode(payload.args)).toEqual([1, "two"]);
    expect(payload.conn.id()).toMatch(/^[0-9a-f-]{36}$/);
    expect(payload.conn.params()).toEqual(Buffer.from([0xf6]));
    expect(payload.conn.isHibernatable()).toBe(false);
    expect(payload.ctx.invocationTraceContext()).toEqual({});
  });

  test("has its token cancelled when it is over, and its listeners told", async () => {
    const cancelled = event<unknown[]>();
    let token: any;
    const { call } = await stage({
      actions: {
        act: (_: unknown, payload: any) => {
          token = payload.cancelToken;
          token.onCancelled((...args: unknown[]) => cancelled.happen(args));
          return encode(token.aborted());
        },
      },
    });
    expect(await call("act")).toBe(false);
    expect(await cancelled.promise).toEqual([null]);
    expect(token.aborted()).toBe(true);
  });

  const oddities: [string, () => unknown, string][] = [
    [
      "throws an error",
      () => {
        throw new Error("sync");
      },
      "Error: sync",
    ],
    [
      "rejects with an error",
      async () => {
        throw new TypeError("async");
      },
      "TypeError: async",
    ],
    [
      "throws undefined",
      () => {
        throw undefined;
      },
      "undefined",
    ],
    ["rejects with null", () => Promise.reject(null), "null"],
    [
      "throws a symbol",
      () => {
        throw Symbol("s");
      },
      "no text",
    ],
    [
      "throws an object that cannot be printed",
      () => {
        throw {
          toString() {
            throw new Error("nested");
          },
        };
      },
      "no text",
    ],
    [
      "returns a thenable that throws",
      () =>
        thenable({
          get() {
            throw new Error("getter");
          },
        }),
      "Error: getter",
    ],
    [
      "returns a thenable that rejects",
      () => thenable({ value: (_: unknown, no: (e: unknown) => void) => no(new Error("thenable")) }),
      "Error: thenable",
    ],
    ["returns undefined", () => undefined, "must return a Buffer or Uint8Array"],
    ["resolves to text", async () => "text", "must return a Buffer or Uint8Array"],
    ["returns another typed array", () => new Uint16Array(2), "must return a Buffer or Uint8Array"],
  ];
  test.each(oddities)("that %s fails alone", async (_, act, text) => {
    const { call } = await stage({ actions: { act, fine: () => encode(1) } });
    const error = await failure(call("act"));
    expect(error.group === "core" ? error.metadata.error : error.message).toContain(text);
    expect(error.actor).toEqual({ actorId: expect.any(String), generation: 1, key: "a" });
    expect(await call("fine")).toBe(1);
  });

  test("may return any bytes, or a thenable of them", async () => {
    const { call } = await stage({
      actions: {
        array: () => new Uint8Array([0x01]),
        view: () => new Uint8Array([9, 0x02, 9]).subarray(1, 2),
        thenable: () => thenable({ value: (yes: (v: unknown) => void) => yes(encode(3)) }),
        large: () => encode("x".repeat(100_000)),
        empty: () => Buffer.alloc(0),
      },
    });
    expect([await call("array"), await call("view"), await call("thenable")]).toEqual([1, 2, 3]);
    expect((await call("large")).length).toBe(100_000);
    expect(await call("empty")).toBeUndefined();
  });

  test("passes structured errors on, wherever the text has them", async () => {
    const fields = {
      group: "user",
      code: "nope",
      message: "no",
      metadata: { deep: [1] },
      public: true,
      statusCode: 418,
    };
    const { call } = await stage({
      actions: {
        act: async () => {
          throw bridged(fields);
        },
      },
    });
    const error = await failure(call("act"));
    expect(error).toMatchObject({ group: "user", code: "nope", message: "no", metadata: { deep: [1] }, public: true });
    expect(error.statusCode).toBe(400);
  });

  test("that does not exist is told by name", async () => {
    const { call } = await stage({});
    const error = await failure(call("missing"));
    expect(error).toMatchObject({ group: "actor", code: "action_not_found", public: true, statusCode: 404 });
    expect([error.message, error.metadata]).toEqual(["Action `missing` was not found.", null]);
  });

  test("that hangs times out, cancels its token, and has its late result dropped", async () => {
    const cancelled = event();
    const release = event();
    const { call } = await stage(
      {
        actions: {
          hang: async (_: unknown, { cancelToken }: any) => {
            cancelToken.onCancelled(() => cancelled.happen());
            await release.promise;
            return encode("late");
          },
          fine: () => encode(1),
        },
      },
      { actionTimeoutMs: 500 },
    );
    expect(facts(await failure(call("hang")))).toEqual(["actor", "action_timed_out"]);
    await cancelled.promise;
    release.happen();
    expect(await call("fine")).toBe(1);
  });

  test("ends when its caller's time is up", async () => {
    const cancelled = event();
    const { registry, target } = await stage(
      {
        actions: {
          hang: (_: unknown, { cancelToken }: any) => {
            cancelToken.onCancelled(() => cancelled.happen());
            return new Promise(() => {});
          },
          fine: () => encode(1),
        },
      },
      { sleepGracePeriodMs: 100 },
    );
    await registry.localAction(target, "fine", encode([]));
    const error = await failure(registry.localAction(target, "hang", encode([]), { timeoutMs: 30 }));
    expect(facts(error)).toEqual(["actor", "action_timed_out"]);
    await cancelled.promise;
  });

  test("runs beside others of the same actor", async () => {
    const second = event();
    const { call } = await stage({
      actions: {
        first: async () => (await second.promise, encode("first")),
        second: () => (second.happen(), encode("second")),
      },
    });
    expect(await Promise.all([call("first"), call("second")])).toEqual(["first", "second"]);
  });

  test("may call its own actor, and others, from inside", async () => {
    const { call } = await stage({
      actions: {
        outer: async (_: unknown, { args }: any) => {
          const depth = decode(args)[0];
          return encode(depth === 0 ? "bottom" : await call("outer", depth - 1));
        },
      },
    });
    expect(await call("outer", 5)).toBe("bottom");
  });

  test("has its output replaced by onBeforeActionResponse", async () => {
    const { call } = await stage({
      actions: { act: () => encode(1) },
      onBeforeActionResponse: (_: unknown, { name, args, output }: any) => encode([name, decode(args), decode(output)]),
    });
    expect(await call("act", 7)).toEqual(["act", [7], 1]);
  });

  test("sees the async context of its caller, never another's", async () => {
    const storage = new AsyncLocalStorage<string>();
    const { call } = await stage({
      actions: {
        look: async () => {
          const before = storage.getStore();
          await new Promise((resolve) => setTimeout(resolve, 2));
          return encode([before, storage.getStore()]);
        },
      },
    });
    const calls = ["a", "b", "c", undefined].map((name) =>
      name === undefined ? call("look") : storage.run(name, () => call("look")),
    );
    expect(await Promise.all(calls)).toEqual([
      ["a", "a"],
      ["b", "b"],
      ["c", "c"],
      [undefined, undefined],
    ]);
  });

  test("is not changed by what its caller does to the bytes meanwhile", async () => {
    const { registry, target } = await stage({ actions: { echo: (_: unknown, { args }: any) => args } });
    const args = encode(["kept"]);
    const answer = registry.localAction(target, "echo", args);
    args.fill(0);
    structuredClone(args, { transfer: [] });
    expect(decode(await answer)).toEqual(["kept"]);
  });
});

describe("hooks of a start that fail", () => {
  const hooks = ["onMigrate", "createState", "onCreate", "createVars", "onWake", "onBeforeActorStart"];
  test.each(hooks)("%s: the caller gets the error, and nothing is initialised", async (hook) => {
    let broken = true;
    const news: boolean[] = [];
    const callbacks: Record<string, unknown> = {
      createState: () => encode({}),
      onMigrate: (_: unknown, { isNew }: any) => void news.push(isNew),
      actions: { fine: () => encode(1) },
    };
    const before = callbacks[hook] as ((...args: unknown[]) => unknown) | undefined;
    callbacks[hook] = async (...args: unknown[]) => {
      const result = before?.(...args);
      if (broken) throw bridged({ group: "user", code: "start", message: "mine" });
      return result;
    };
    const { call } = await stage(callbacks);
    const error = await failure(call("fine"));
    expect(facts(error)).toEqual(["guard", "actor_wake_retries_exceeded"]);
    expect(error.metadata.error).toEqual({ group: "user", code: "start", message: "mine" });
    broken = false;
    expect(await call("fine")).toBe(1);
    const rest = hooks.indexOf(hook) <= hooks.indexOf("onCreate");
    expect(news.at(-1)).toBe(rest);
  });

  test("a hook that hangs is cut and named", async () => {
    const { call } = await stage(
      { onWake: () => new Promise(() => {}), actions: { fine: () => encode(1) } },
      { onWakeTimeoutMs: 20 },
    );
    const error = await failure(call("fine"));
    expect(facts(error.metadata.error)).toEqual(["actor", "callback_timed_out"]);
  }, 60_000);
});

describe("hooks of a connection", () => {
  test("run in order, with the payloads of the published addon", async () => {
    const log: [string, any][] = [];
    const note = (name: string, result?: unknown) => (_: unknown, payload: any) => (log.push([name, payload]), result);
    const closed = event();
    const { registry, target } = await stage({
      onBeforeConnect: note("onBeforeConnect"),
      createConnState: note("createConnState", encode({ n: 1 })),
      onConnect: note("onConnect"),
      onDisconnectFinal: (_: unknown, payload: any) => (log.push(["onDisconnectFinal", payload]), closed.happen()),
      actions: { state: (_: unknown, { conn }: any) => conn.state() },
    });
    const params = encode({ token: 1 });
    expect(decode(await registry.localAction(target, "state", encode([]), { params }))).toEqual({ n: 1 });
    await closed.promise;
    expect(log.map(([name, payload]) => [name, Object.keys(payload).sort()])).toEqual([
      ["onBeforeConnect", ["ctx", "params"]],
      ["createConnState", ["conn", "ctx", "params"]],
      ["onConnect", ["conn", "ctx"]],
      ["onDisconnectFinal", ["conn", "ctx"]],
    ]);
    expect(decode(log[0]?.[1].params)).toEqual({ token: 1 });
    expect(decode(log[3]?.[1].conn.state())).toEqual({ n: 1 });
    expect(log[0]?.[1].ctx.invocationTraceContext()).toBeNull();
  });

  test.each(["onBeforeConnect", "createConnState", "onConnect"])("%s refuses by throwing", async (hook) => {
    const { call } = await stage({
      [hook]: async () => {
        throw bridged({ group: "auth", code: "forbidden", message: "go away" });
      },
      actions: { fine: () => encode(1) },
    });
    expect(await failure(call("fine"))).toMatchObject({
      group: "auth",
      code: "forbidden",
      message: "go away",
      statusCode: 403,
    });
  });

  test("onDisconnect, by its older name, may throw and hang without harm", async () => {
    const { call } = await stage(
      { onDisconnect: () => new Promise((_, no) => no(new Error("mine"))), actions: { fine: () => encode(1) } },
      {},
    );
    expect([await call("fine"), await call("fine")]).toEqual([1, 1]);
  });
});

describe("serializeState", () => {
  test("is asked only after a request, and the state is there again", async () => {
    const reasons: string[] = [];
    const callbacks = {
      createState: () => encode(0),
      serializeState: (_: unknown, { ctx, reason }: any) => {
        reasons.push(reason);
        return { state: encode(ctx.runtimeState().value), connHibernation: [], connHibernationRemoved: [] };
      },
      actions: {
        set: async (_: unknown, { ctx, args }: any) => {
          ctx.runtimeState().value = decode(args)[0];
          await ctx.requestSaveAndWait({ immediate: true });
          return encode(null);
        },
        get: (_: unknown, { ctx }: any) => ctx.state(),
        nap: (_: unknown, { ctx }: any) => (ctx.sleep(), encode(null)),
      },
    };
    const { registry, call, dataDir } = await stage(callbacks);
    await call("set", 42);
    expect(await call("get")).toBe(42);
    expect(reasons).toEqual(["save"]);
    await registry.shutdown();
    expect(reasons).toEqual(["save"]);
    const again = await stage(callbacks, {}, dataDir);
    expect(await again.call("get")).toBe(42);
  });

  test("that fails leaves the actor alive, and the next save saves", async () => {
    let broken = true;
    const { call } = await stage(
      {
        createState: () => encode(0),
        serializeState: () => {
          if (broken) throw new Error("mine");
          return { ...nothingToSave, state: encode(1) };
        },
        actions: {
          save: async (_: unknown, { ctx }: any) => (await ctx.requestSaveAndWait({ immediate: true }), ctx.state()),
          mend: () => ((broken = false), encode(1)),
        },
      },
      { stateSaveIntervalMs: 10 },
    );
    const saved = call("save");
    await call("mend");
    expect(await saved).toBe(1);
  });

  test("may return nonsense without harm", async () => {
    const { registry, call } = await stage({
      serializeState: () => ({ state: "text" }),
      actions: { touch: (_: unknown, { ctx }: any) => (ctx.requestSave({ immediate: true }), encode(1)) },
    });
    expect(await call("touch")).toBe(1);
    await registry.shutdown();
  });
});
