import { describe, expect, test } from "vitest";
import { decode, encode, FakeConn, rig, turn } from "../fixtures/fake-native";

describe("state", () => {
  test("is created from a constant or by a function with the input", async () => {
    const constant = rig({ state: { n: 0 } });
    expect(decode(await constant.call("createState", { input: null }))).toEqual({ n: 0 });
    const made = rig({ createState: (_: unknown, input: any) => ({ from: input?.start }) });
    expect(decode(await made.call("createState", { input: encode({ start: 5 }) }))).toEqual({ from: 5 });
    expect(decode(await made.call("createState", { input: null }))).toEqual({ from: undefined });
  });

  test("of one actor is not that of the next", async () => {
    const fixture = rig({ state: { list: [] as number[] }, actions: { add: (c: any) => c.state.list.push(1) } });
    await fixture.call("createState", { input: null });
    expect(await fixture.action("add")).toBe(1);
    fixture.ctx.beginNext();
    await fixture.call("createState", { input: null });
    expect(await fixture.action("add")).toBe(1);
  });

  test("that cannot be stored is refused when the registry is set up, or when it is created", async () => {
    expect(() => rig({ state: { fn: () => 0 } })).toThrow("state.fn");
    const made = rig({ createState: () => ({ fn: () => 0 }) });
    await expect(made.call("createState", { input: null })).rejects.toThrow("state.fn");
  });

  test("is decoded from storage when it is first needed, not before", async () => {
    const fixture = rig({ state: { n: 0 }, actions: { get: (c: any) => c.state.n, other: () => 1 } });
    fixture.ctx.stored = encode({ n: 7 });
    await fixture.action("other");
    expect(fixture.ctx.log).toEqual([]);
    expect([await fixture.action("get"), await fixture.action("get")]).toEqual([7, 7]);
    expect(fixture.ctx.log).toEqual(["state"]);
  });

  test("is there in onCreate, and vars after createVars", async () => {
    const seen: unknown[] = [];
    const fixture = rig({
      state: { n: 1 },
      createVars: (c: any) => ({ double: c.state.n * 2 }),
      onCreate: (c: any, input: unknown) => seen.push(["create", c.state.n, c.vars, input]),
      onWake: (c: any) => seen.push(["wake", c.vars.double]),
    });
    await fixture.call("createState", { input: null });
    await fixture.call("onCreate", { input: encode("in") });
    await fixture.call("createVars");
    await fixture.call("onWake");
    expect(seen).toEqual([
      ["create", 1, undefined, "in"],
      ["wake", 2],
    ]);
  });

  test("is refused where none is defined", async () => {
    const fixture = rig({ actions: { get: (c: any) => c.state, set: (c: any) => (c.state = 1) } });
    expect(fixture.has("createState")).toBe(false);
    await expect(fixture.action("get")).rejects.toMatchObject({ group: "actor", code: "state_not_enabled" });
    await expect(fixture.action("set")).rejects.toMatchObject({ code: "state_not_enabled" });
  });

  test("vars given as a value are a copy for each generation", async () => {
    const fixture = rig({ vars: { list: [] as number[] }, actions: { add: (c: any) => c.vars.list.push(1) } });
    await fixture.call("createVars");
    await fixture.action("add");
    fixture.ctx.beginNext();
    await fixture.call("createVars");
    expect(await fixture.action("add")).toBe(1);
  });
});

describe("saving", () => {
  const counter = (extra: object = {}) => {
    const fixture = rig({
      state: { n: 0, m: 0 },
      actions: {
        add: (c: any) => {
          c.state.n++;
          c.state.m++;
          return c.state.n;
        },
        now: async (c: any) => {
          c.state.n++;
          await c.saveState({ immediate: true });
        },
        hint: (c: any) => {
          c.state.n++;
          c.requestSave({ immediate: true });
        },
        soon: async (c: any) => {
          c.state.n++;
          await c.saveState({ maxWait: 50 });
        },
        read: (c: any) => c.state.n,
      },
      ...extra,
    });
    fixture.ctx.stored = encode({ n: 0, m: 0 });
    return fixture;
  };

  test("is asked for once before the reply, however many fields changed", async () => {
    const { action, ctx } = counter();
    await action("add");
    expect(ctx.saves).toEqual([{ immediate: false }]);
    await turn();
    expect(ctx.saves).toHaveLength(1);
  });

  test("is not asked for by reading", async () => {
    const { action, ctx } = counter();
    await action("read");
    await turn();
    expect(ctx.saves).toEqual([]);
  });

  test("is asked for as the user does, and not a second time for the same change", async () => {
    const { action, ctx } = counter();
    await action("now");
    await action("hint");
    await action("soon");
    await turn();
    expect(ctx.saves).toEqual([{ immediate: true }, { immediate: true }, { maxWaitMs: 50 }]);
    expect(ctx.log.filter((entry) => entry === "saveState")).toHaveLength(1);
  });

  test("of a change outside of any call is asked for at the end of the turn", async () => {
    const { runtime, ctx } = counter();
    (runtime().state as any).n = 5;
    expect(ctx.saves).toEqual([]);
    await turn();
    expect(ctx.saves).toEqual([{ immediate: false }]);
  });

  test("writes the whole live state, or nothing if nobody has touched it", async () => {
    const { action, save } = counter();
    expect(await save()).toEqual({ connHibernation: [], connHibernationRemoved: ["removed"] });
    expect(decode((await save("inspector")).state as Uint8Array)).toEqual({ n: 0, m: 0 });
    await action("add");
    expect(decode((await save()).state as Uint8Array)).toEqual({ n: 1, m: 1 });
  });

  test("fails, not silently drops, when the state was made unstorable behind its back", async () => {
    const mine: Record<string, unknown> = {};
    const fixture = rig({ state: {}, actions: { put: (c: any) => ((c.state.mine = mine), 0) } });
    fixture.ctx.stored = encode({});
    await fixture.action("put");
    mine.fn = () => 0;
    await expect(fixture.save()).rejects.toThrow("state.mine.fn");
  });
});

describe("onStateChange", () => {
  test("is called once per turn with the new state, and keeps the actor awake", async () => {
    const seen: unknown[] = [];
    const fixture = rig({
      state: { n: 0 },
      onStateChange: (_: unknown, state: any) => seen.push({ ...state }),
      actions: {
        twice: (c: any) => {
          c.state.n++;
          c.state.n++;
        },
        read: (c: any) => c.state.n,
      },
    });
    fixture.ctx.stored = encode({ n: 0 });
    await fixture.action("twice");
    expect(seen).toEqual([]);
    await turn();
    expect(seen).toEqual([{ n: 2 }]);
    expect(fixture.ctx.log).toEqual(["state", "requestSave", "beginOnStateChange", "endOnStateChange"]);
    await fixture.action("read");
    await turn();
    expect(seen).toHaveLength(1);
  });

  test.each([
    [
      "a plain function",
      (c: any) => {
        c.state.n++;
      },
    ],
    [
      "an async function",
      async (c: any) => {
        await null;
        c.state.n++;
      },
    ],
  ])("must not change the state: %s", async (_, onStateChange) => {
    const fixture = rig({ state: { n: 0 }, onStateChange, actions: { add: (c: any) => ++c.state.n } });
    fixture.ctx.stored = encode({ n: 0 });
    await fixture.action("add");
    await turn();
    expect(fixture.lines.join()).toContain("State cannot be changed inside onStateChange");
    expect(await fixture.action("add")).toBe(2);
  });

  test("that waits does not stop actions from changing the state, and may change vars", async () => {
    let release = () => {};
    const gate = new Promise<void>((resolve) => (release = resolve));
    const fixture = rig({
      state: { n: 0 },
      vars: {},
      onStateChange: async (c: any) => {
        await gate;
        c.vars.seen = true;
      },
      actions: { add: (c: any) => ++c.state.n, vars: (c: any) => c.vars },
    });
    fixture.ctx.stored = encode({ n: 0 });
    await fixture.call("createVars");
    await fixture.action("add");
    await turn();
    expect(fixture.ctx.log).not.toContain("endOnStateChange");
    expect(await fixture.action("add")).toBe(2);
    release();
    await turn();
    expect(await fixture.action("vars")).toEqual({ seen: true });
    expect(fixture.ctx.log.filter((entry) => entry === "endOnStateChange")).toHaveLength(2);
  });
});

describe("sleep", () => {
  test("runs the hook and tells native code of its changes, which saves when nothing runs any more", async () => {
    const fixture = rig({ state: { n: 0 }, onSleep: (c: any) => void (c.state.n = 5) });
    fixture.ctx.stored = encode({ n: 0 });
    await fixture.call("onSleep");
    expect(fixture.ctx.log).toEqual(["state", "requestSave"]);
  });

  test("tells of changes although the hook failed, and reports that failure", async () => {
    const fixture = rig({
      state: { n: 0 },
      onSleep: (c: any) => {
        c.state.n = 5;
        return Promise.reject(new Error("hook"));
      },
    });
    fixture.ctx.stored = encode({ n: 0 });
    await expect(fixture.call("onSleep")).rejects.toThrow("hook");
    expect(fixture.ctx.log).toContain("requestSave");
  });

  test("keeps the runtime for calls that still arrive", async () => {
    const fixture = rig({ state: { n: 0 }, actions: { add: (c: any) => ++c.state.n } });
    fixture.ctx.stored = encode({ n: 0 });
    expect(await fixture.action("add")).toBe(1);
    await fixture.call("onSleep");
    expect(await fixture.action("add")).toBe(2);
  });

  test("closes a database that was used once the generation is over, destruction too", async () => {
    for (const hook of ["onSleep", "onDestroy"]) {
      const fixture = rig({ actions: { use: (c: any) => c.db.execute("select 1") } });
      let closed = 0;
      fixture.ctx.services.sql = {
        executeValues: async () => ({ columns: ["1"], values: [1], changes: 0, lastInsertRowId: null }),
        close: async () => void closed++,
      };
      expect(await fixture.action("use")).toEqual([{ 1: 1 }]);
      await fixture.call(hook);
      expect(await fixture.action("use")).toEqual([{ 1: 1 }]);
      expect([hook, closed]).toEqual([hook, 0]);
      fixture.ctx.over();
      await turn();
      expect([hook, closed]).toEqual([hook, 1]);
    }
  });
});

describe("destruction", () => {
  test("runs the hook, without saving", async () => {
    const seen: string[] = [];
    const fixture = rig({ onDestroy: () => seen.push("hook") });
    await fixture.call("onDestroy");
    expect([seen, fixture.ctx.log]).toEqual([["hook"], []]);
  });
});

describe("run", () => {
  test("resolves true at its end, also when the actor's stop ended it", async () => {
    expect(await rig({ run: () => undefined }).call("run")).toBe(true);
    const aborted = Object.assign(new Error("x"), { __type: "RivetError", group: "actor", code: "aborted" });
    await expect(rig({ run: () => Promise.reject(aborted) }).call("run")).rejects.toMatchObject({ code: "aborted" });
    const { ActorError } = await import("../../ts/errors/actor-error");
    const own = new ActorError("actor", "aborted", "Actor aborted");
    expect(await rig({ run: { name: "r", run: () => Promise.reject(own) } }).call("run")).toBe(true);
  });
});

describe("connections", () => {
  const params = encode({ name: "ann" });

  test("are judged, get their state and leave", async () => {
    const seen: unknown[] = [];
    const fixture = rig({
      onBeforeConnect: (c: any, p: any) => seen.push(["before", p.name, c.request?.url]),
      createConnState: (_: unknown, p: any) => ({ who: p.name, n: 0 }),
      onConnect: (c: any, conn: any) => seen.push(["connect", conn.state.who, c.conn === conn]),
      onDisconnect: (_: unknown, conn: any) => seen.push(["disconnect", conn.state.n]),
      actions: { bump: (c: any) => ++c.conn.state.n },
    });
    const conn = new FakeConn("c1", { name: "ann" });
    const request = { method: "GET", uri: "/connect?x=1", headers: {} };
    await fixture.call("onBeforeConnect", { params, request });
    conn.stored = await fixture.call("createConnState", { conn, params });
    await fixture.call("onConnect", { conn });
    expect(decode(await fixture.invokeAction("bump", { conn }))).toBe(1);
    await turn();
    expect(decode(conn.stored)).toEqual({ who: "ann", n: 1 });
    await fixture.call("onDisconnectFinal", { conn });
    expect(seen).toEqual([
      ["before", "ann", "http://127.0.0.1/connect?x=1"],
      ["connect", "ann", true],
      ["disconnect", 1],
    ]);
  });

  test("whose changed state has not reached native code yet are saved with it", async () => {
    const fixture = rig({ connState: { n: 0 }, actions: { bump: (c: any) => ++c.conn.state.n } });
    const conn = new FakeConn();
    conn.stored = encode({ n: 0 });
    fixture.ctx.open = [conn];
    await fixture.invokeAction("bump", { conn });
    const { connHibernation } = await fixture.save();
    expect(decode(connHibernation[0]?.bytes as Uint8Array)).toEqual({ n: 1 });
  });

  test("are refused by a throwing hook, and forgotten", async () => {
    const fixture = rig({
      connState: {},
      onBeforeConnect: () => {
        throw new Error("no");
      },
      onConnect: () => {
        throw new Error("not you");
      },
      onDisconnect: () => undefined,
    });
    await expect(fixture.call("onBeforeConnect", { params })).rejects.toThrow("no");
    await expect(fixture.call("onConnect", { conn: new FakeConn() })).rejects.toThrow("not you");
  });

  test("have no state where none is defined", async () => {
    const fixture = rig({ actions: { state: (c: any) => c.conn.state } });
    await expect(fixture.invokeAction("state", { conn: new FakeConn() })).rejects.toMatchObject({
      code: "state_not_enabled",
    });
    expect(fixture.has("onDisconnectFinal")).toBe(false);
  });

  test("that failed in native code do not stay for ever", async () => {
    const fixture = rig({ connState: { n: 0 }, actions: { read: (c: any) => c.conn.state.n } });
    for (let i = 0; i < 500; i++) {
      const conn = new FakeConn(`c${i}`);
      conn.stored = encode({ n: i });
      await fixture.invokeAction("read", { conn });
    }
    expect(fixture.runtime().conns.size).toBeLessThan(200);
  });

  test("subscribe only where they may", async () => {
    const fixture = rig({
      events: {
        open: { schema: validator },
        staff: { schema: validator, canSubscribe: (c: any) => c.conn.params === "staff" },
      },
    });
    const subscribe = (eventName: string, who: unknown) =>
      fixture.call("onBeforeSubscribe", { conn: new FakeConn("c", who), eventName });
    await subscribe("open", "guest");
    await subscribe("undeclared", "guest");
    await subscribe("staff", "staff");
    await expect(subscribe("staff", "guest")).rejects.toMatchObject({ group: "auth", code: "forbidden" });
    expect(rig({ events: { open: validator } }).has("onBeforeSubscribe")).toBe(false);
  });

  test("have their params validated", async () => {
    const fixture = rig({ connParamsSchema: validator, connState: 1 });
    await fixture.call("onBeforeConnect", { params: encode("good") });
    await expect(fixture.call("onBeforeConnect", { params: encode("bad") })).rejects.toMatchObject({
      group: "actor",
      code: "validation_failed",
    });
  });
});

const validator = {
  "~standard": {
    version: 1 as const,
    vendor: "test",
    validate: (value: unknown) => (value === "bad" ? { issues: [{ message: "no" }] } : { value }),
  },
};
