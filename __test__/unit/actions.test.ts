import { describe, expect, test } from "vitest";
import { UserError } from "../../ts/errors/actor-error";
import { decode, encode, FakeConn, FakeToken, rig } from "../fixtures/fake-native";

const atLeastTwo = {
  "~standard": {
    version: 1 as const,
    vendor: "test",
    validate: (value: unknown) =>
      Array.isArray(value) && value.length >= 2
        ? { value: value.map(Number) }
        : { issues: [{ message: "needs two", path: ["args", { key: 1 }] }] },
  },
};

describe("an action", () => {
  test("gets context and arguments and answers with its output", async () => {
    const { action } = rig({
      actions: { add: (_: unknown, a: number, b: number) => a + b, grp: { sub: async () => "s" } },
    });
    expect(await action("add", 1, 2)).toBe(3);
    expect(await action("grp.sub")).toBe("s");
  });

  test("sees who and where it is", async () => {
    const { action } = rig({
      actions: { who: (c: any) => [c.actorId, c.name, c.key, c.region, c.aborted, c.preventSleep] },
    });
    expect(await action("who")).toEqual(["actor-1", "counter", ["a", "2"], "", false, false]);
  });

  test("takes no bytes as no arguments, and a lone value as the only one", async () => {
    const fixture = rig({ actions: { args: (_: unknown, ...args: unknown[]) => args } });
    expect(await callAction(fixture, "args", { args: new Uint8Array() })).toEqual([]);
    expect(await callAction(fixture, "args", { args: encode(null) })).toEqual([]);
    expect(await callAction(fixture, "args", { args: encode({ a: 1 }) })).toEqual([{ a: 1 }]);
  });

  test.each([
    [
      "a UserError",
      () => {
        throw new UserError("full", { code: "full", metadata: { seats: 0 } });
      },
      { group: "user", code: "full", message: "full", metadata: { seats: 0 } },
    ],
    [
      "a plain error",
      () => {
        throw new Error("boom");
      },
      { group: "rivetkit", code: "internal_error", message: "boom" },
    ],
    ["a rejection", () => Promise.reject(new Error("later")), { group: "rivetkit", message: "later" }],
    ["nothing", () => Promise.reject(), { group: "rivetkit", message: "undefined" }],
    [
      "a result that cannot be encoded",
      () => ({ fn: () => 0 }),
      { group: "napi", code: "invalid_argument", metadata: expect.objectContaining({ argument: "output.fn" }) },
    ],
  ])("that throws rejects with a structured error: %s", async (_, run, expected) => {
    await expect(rig({ actions: { run } }).action("run")).rejects.toMatchObject(expected);
  });

  test("that throws by accident is logged with its stack, a UserError is not", async () => {
    const { action, lines } = rig({
      actions: {
        bug: () => {
          throw new Error("boom");
        },
        no: () => {
          throw new UserError("no");
        },
      },
    });
    await expect(action("bug")).rejects.toThrow();
    await expect(action("no")).rejects.toThrow();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("unexpected error in action counter.bug");
    expect(lines[0]).toContain("actions.test.ts");
  });

  test("has its input validated and transformed", async () => {
    const { action } = rig({
      actions: { sum: (_: unknown, ...n: number[]) => n },
      actionInputSchemas: { sum: atLeastTwo },
    });
    expect(await action("sum", "1", "2")).toEqual([1, 2]);
    await expect(action("sum", 1)).rejects.toMatchObject({
      group: "actor",
      code: "validation_failed",
      metadata: { issues: [{ message: "needs two", path: ["args", 1] }] },
    });
  });

  test("that a schedule calls gets what fired as its last argument", async () => {
    const fixture = rig({ actions: { tick: (c: any, ...args: unknown[]) => [c.conn, ...args] } });
    const fire = { kind: "at", id: "s1", name: undefined, scheduledAt: 1, firedAt: 2 };
    const output = await callAction(fixture, "tick", { args: encode(["x"]), scheduledFire: fire });
    expect(output).toEqual([undefined, "x", { kind: "at", id: "s1", scheduledAt: 1, firedAt: 2 }]);
  });

  test("sees its connection, its params and its state", async () => {
    const fixture = rig({
      connState: { role: "guest" },
      actions: { me: (c: any) => [c.conn.id, c.conn.params, c.conn.state, c.conn.isHibernatable] },
    });
    const conn = new FakeConn("c9", { token: 1n });
    conn.stored = encode({ role: "guest" });
    expect(await callAction(fixture, "me", { conn })).toEqual(["c9", { token: 1n }, { role: "guest" }, false]);
  });

  test("has a signal that fires when the call ends or the actor stops", async () => {
    const fixture = rig({ actions: { hold: (c: any) => void signals.push(c.abortSignal) } });
    const signals: AbortSignal[] = [];
    const cancelToken = new FakeToken();
    await callAction(fixture, "hold", { cancelToken });
    await callAction(fixture, "hold");
    expect(signals.map((signal) => signal.aborted)).toEqual([false, false]);
    cancelToken.cancel();
    expect(signals.map((signal) => signal.aborted)).toEqual([true, false]);
    fixture.ctx.controller.abort();
    expect(signals.map((signal) => signal.aborted)).toEqual([true, true]);
  });

  test("may have its output replaced before it is sent", async () => {
    const { call, has } = rig({
      actions: {},
      onBeforeActionResponse: (_: unknown, name: string, args: unknown[], output: number) => ({
        name,
        args,
        output: output + 1,
      }),
    });
    const output = await call("onBeforeActionResponse", { name: "n", args: encode([1]), output: encode(5) });
    expect(decode(output)).toEqual({ name: "n", args: [1], output: 6 });
    expect(has("onBeforeActionResponse")).toBe(true);
    expect(rig({}).has("onBeforeActionResponse")).toBe(false);
  });

  test("called like a member of Object.prototype is an ordinary one, and no other is there", async () => {
    const { action } = rig({ actions: { constructor: () => 1, toString: () => 2 } });
    expect([await action("constructor"), await action("toString")]).toEqual([1, 2]);
    await expect(rig({ actions: {} }).action("valueOf")).rejects.toThrow("not registered");
  });
});

describe("a context", () => {
  test("sends events with the arguments given, validated where declared", async () => {
    const fixture = rig({
      events: { pair: atLeastTwo },
      actions: {
        open: (c: any) => c.broadcast("any", 1, undefined),
        pair: (c: any, ...args: unknown[]) => c.broadcast("pair", ...args),
        direct: (c: any) => c.conn.send("pair", "1", "2"),
      },
    });
    await fixture.action("open");
    await fixture.action("pair", "1", "2");
    expect(fixture.ctx.broadcasts).toEqual([
      ["any", [1, undefined]],
      ["pair", [1, 2]],
    ]);
    await expect(fixture.action("pair", 1)).rejects.toMatchObject({ group: "event", code: "validation_failed" });
    const conn = new FakeConn();
    await callAction(fixture, "direct", { conn });
    expect(conn.sent).toEqual([["pair", [1, 2]]]);
  });

  test("passes keepAwake through and logs what waitUntil work throws", async () => {
    const fixture = rig({
      actions: {
        awake: (c: any) => c.keepAwake(Promise.resolve(5)),
        fails: (c: any) => c.keepAwake(Promise.reject(new Error("mine"))),
        later: (c: any) => c.waitUntil(Promise.reject(new Error("background"))),
      },
    });
    expect(await fixture.action("awake")).toBe(5);
    await expect(fixture.action("fails")).rejects.toThrow("mine");
    await expect(fixture.ctx.services.keepAwake).resolves.toBe(undefined);
    await fixture.action("later");
    await expect(fixture.ctx.services.waitUntil).resolves.toBe(undefined);
    expect(fixture.lines.join()).toContain("background");
  });

  test("tells native code of what work changed before the work counts as ended", async () => {
    let finish = () => {};
    const gate = new Promise<void>((resolve) => (finish = resolve));
    for (const kind of ["keepAwake", "waitUntil"] as const) {
      const later = async (c: any) => {
        await gate;
        c.state.n++;
      };
      const fixture = rig({ state: { n: 0 }, actions: { work: (c: any) => void c[kind](later(c)) } });
      fixture.ctx.stored = encode({ n: 0 });
      await fixture.action("work");
      const ended = (fixture.ctx.services[kind] as Promise<void>).then(() => [...fixture.ctx.log]);
      finish();
      expect(await ended).toEqual(["state", "requestSave"]);
    }
  });

  test("asks for sleep and destruction, lists connections and yields the registry's client", async () => {
    const client = { is: "client" };
    const fixture = rig(
      { actions: { all: (c: any) => (c.sleep(), c.destroy(), [[...c.conns.keys()], c.client()]) } },
      client,
    );
    fixture.ctx.open = [new FakeConn("a"), new FakeConn("b")];
    expect(await fixture.action("all")).toEqual([["a", "b"], client]);
    expect(fixture.ctx.log).toEqual(["sleep", "destroy"]);
  });

  test("reports native errors as structured ones", async () => {
    const fixture = rig({ actions: { sleep: (c: any) => c.sleep() } });
    fixture.ctx.sleep = () => {
      throw new Error('__RIVET_ERROR_JSON__:{"group":"actor","code":"stopping","message":"Actor is stopping."}');
    };
    await expect(fixture.action("sleep")).rejects.toMatchObject({ group: "actor", code: "stopping", retryable: true });
  });
});

async function callAction(fixture: ReturnType<typeof rig>, name: string, payload: object = {}): Promise<unknown> {
  return decode(await fixture.invokeAction(name, payload));
}
