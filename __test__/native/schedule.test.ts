import { describe, expect, test } from "vitest";
import { decode, encode, event, failure, stage } from "./addon";

const NO_ARGS = encode([]);
const DAY = 86_400_000;

/** An actor that hands its native context to the test, and tells of its fires. */
async function scheduling(actions: Record<string, unknown> = {}, config: Record<string, unknown> = {}) {
  let body: (ctx: any) => Promise<unknown> = async () => undefined;
  const { call, registry } = await stage(
    { actions: { use: async (_: unknown, { ctx }: any) => (await body(ctx), encode(null)), ...actions } },
    config,
  );
  const use = async <T>(act: (ctx: any) => Promise<T>): Promise<T> => {
    let result: T | undefined;
    body = async (ctx) => {
      result = await act(ctx);
    };
    await call("use");
    return result as T;
  };
  return { use, schedule: <T>(act: (schedule: any) => Promise<T>) => use((ctx) => act(ctx.schedule())), registry };
}

describe("a native schedule", () => {
  test("calls an action once, without a connection, and tells it why", async () => {
    const fired = event<any>();
    const { schedule } = await scheduling({
      remind: (_: unknown, payload: any) => (fired.happen(payload), encode(null)),
    });
    const before = Date.now();
    const id = await schedule((s) => s.after(0, "remind", encode(["tea", 2n])));
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const { conn, args, scheduledFire } = await fired.promise;
    expect(conn).toBeNull();
    expect(decode(args)).toEqual(["tea", 2n]);
    expect(Object.keys(scheduledFire).sort()).toEqual(["firedAt", "id", "kind", "name", "scheduledAt"]);
    expect(scheduledFire).toMatchObject({ kind: "at", id, name: undefined });
    expect(scheduledFire.scheduledAt).toBeGreaterThanOrEqual(before);
    expect(scheduledFire.firedAt).toBeGreaterThanOrEqual(scheduledFire.scheduledAt);
    await schedule(async (s) => {
      expect(await s.get(id)).toBeNull();
      expect(await s.cancel(id)).toBe(false);
    });
  });

  test("lists what fires once by time, and cancels it", async () => {
    const { schedule } = await scheduling();
    await schedule(async (s) => {
      const at = Date.now() + 60 * DAY;
      const late = await s.at(at + 1, "x", encode([1]));
      const early = await s.at(at, "x", NO_ARGS);
      expect(await s.list()).toEqual([
        { id: early, action: "x", args: NO_ARGS, runAt: at },
        { id: late, action: "x", args: encode([1]), runAt: at + 1 },
      ]);
      expect(await s.get(late)).toEqual({ id: late, action: "x", args: encode([1]), runAt: at + 1 });
      expect(await s.cancel(early)).toBe(true);
      expect(await s.cancel(early)).toBe(false);
      expect((await s.list()).length).toBe(1);
    });
  });

  test("keeps recurring jobs by name, with absent properties where nothing is known", async () => {
    const { schedule } = await scheduling();
    await schedule(async (s) => {
      await s.cronSet("nightly", "30 3 * * *", "Europe/Berlin", "x", NO_ARGS, 5);
      await s.cronEvery("often", 5_000, "y", encode([1]));
      const nightly = await s.cronGet("nightly");
      expect(nightly).toEqual({
        name: "nightly",
        kind: "cron",
        action: "x",
        args: NO_ARGS,
        nextRunAt: expect.any(Number),
        expression: "30 3 * * *",
        timezone: "Europe/Berlin",
        maxHistory: 5,
      });
      expect(Object.keys(await s.cronGet("often")).sort()).toEqual(
        ["action", "args", "intervalMs", "kind", "maxHistory", "name", "nextRunAt"].sort(),
      );
      expect((await s.cronList()).map((job: any) => job.name)).toEqual(["often", "nightly"]);
      expect(await s.list()).toEqual([]);
      expect(await s.cronGet("nobody")).toBeNull();
      expect(await s.cronHistory("nobody")).toEqual([]);
      expect(await s.cronDelete("often")).toBe(true);
      expect(await s.cronDelete("often")).toBe(false);
      await s.cronSet("utc", "0 0 1 1 *", null, "x", NO_ARGS);
      expect(await s.cronGet("utc")).toMatchObject({ timezone: "UTC", maxHistory: 100 });
    });
  });

  test("refuses what no schedule can be, with the published errors", async () => {
    const { schedule } = await scheduling({}, { maxSchedules: 1 });
    await schedule(async (s) => {
      expect(await failure(s.after(-1, "x", NO_ARGS))).toMatchObject({
        code: "invalid_argument",
        metadata: { argument: "durationMs", reason: "must be non-negative" },
      });
      for (const time of [Number.NaN, Number.POSITIVE_INFINITY, 1e300]) {
        expect(await failure(s.at(time, "x", NO_ARGS))).toMatchObject({ code: "invalid_argument" });
        expect(await failure(s.after(time, "x", NO_ARGS))).toMatchObject({ code: "invalid_argument" });
        expect(await failure(s.cronEvery("j", time, "x", NO_ARGS))).toMatchObject({ code: "invalid_argument" });
      }
      const never = await s.at(Number.MAX_SAFE_INTEGER, "x", NO_ARGS);
      expect(await s.cancel(never)).toBe(true);
      const set = (name: string, expression: string, zone?: string, history?: number) =>
        failure(s.cronSet(name, expression, zone, "x", NO_ARGS, history));
      expect(await set("", "* * * * *")).toMatchObject({ code: "invalid_name" });
      expect(await set("é".repeat(65), "* * * * *")).toMatchObject({ code: "invalid_name" });
      expect(await set("a", "* * * * * *")).toMatchObject({
        code: "invalid_cron_expression",
        message: "Cron expression is invalid: expected exactly five fields",
      });
      expect(await set("a", "0 0 30 2 *")).toMatchObject({ code: "invalid_cron_expression" });
      expect(await set("a", "* * * * *", "Mars/Base")).toMatchObject({
        code: "invalid_timezone",
        metadata: { timezone: "Mars/Base" },
      });
      expect(await set("a", "* * * * *", "UTC", 1001)).toMatchObject({
        code: "invalid_max_history",
        metadata: { max_history: 1001, maximum: 1000 },
      });
      expect(await failure(s.cronEvery("a", 4_999, "x", NO_ARGS))).toMatchObject({
        code: "invalid_interval",
        metadata: { interval_ms: 4_999, minimum_ms: 5_000 },
      });
      expect(await failure(s.cronHistory("a", 0))).toMatchObject({ code: "invalid_max_history" });
      await s.after(DAY, "x", NO_ARGS);
      expect(await failure(s.after(DAY, "x", NO_ARGS))).toMatchObject({
        code: "max_schedules_exceeded",
        public: true,
        metadata: { maximum: 1 },
      });
      expect(() => s.after("soon", "x", NO_ARGS)).toThrow();
    });
  });

  test("does what it is told in the order it is told, unawaited", async () => {
    const { schedule } = await scheduling();
    await schedule(async (s) => {
      const set = s.cronEvery("job", 5_000, "x", NO_ARGS);
      const deleted = s.cronDelete("job");
      await set;
      expect(await deleted).toBe(true);
      expect(await s.cronGet("job")).toBeNull();
    });
  });

  test("takes an alarm and a run wake", async () => {
    const { use } = await scheduling();
    await use(async (ctx) => {
      expect(ctx.setAlarm(Date.now() + DAY)).toBeUndefined();
      expect(ctx.setAlarm()).toBeUndefined();
      expect(await ctx.setRunWakeAt(Date.now() + DAY)).toBeUndefined();
      expect(await ctx.setRunWakeAt(null)).toBeUndefined();
      expect(await failure(ctx.setRunWakeAt(Number.NaN))).toMatchObject({ code: "invalid_argument" });
    });
  });
});

describe("a run wake", () => {
  test("starts the run handler again at its time, while the actor sleeps too", async () => {
    const runs: number[] = [];
    const again = event();
    const { call } = await stage(
      {
        run: async (_: unknown, { ctx }: any) => {
          runs.push(Date.now());
          if (runs.length === 1) await ctx.setRunWakeAt(Date.now() + 300);
          else again.happen();
          return true;
        },
        actions: { ping: () => encode(null) },
      },
      { sleepTimeoutMs: 50 },
    );
    await call("ping");
    await again.promise;
    expect((runs[1] ?? 0) - (runs[0] ?? 0)).toBeGreaterThanOrEqual(299);
  });
});

describe("a workflow batch", () => {
  test("is stored with the state in one transaction, and refused whole when too large", async () => {
    const saved: string[] = [];
    const { use } = await scheduling();
    await use(async (ctx) => {
      const key = (byte: number) => Buffer.from([6, 1, byte]);
      await ctx.saveStateAndWorkflowBatch([{ key: key(1), value: Buffer.from("one") }]);
      saved.push("one");
      const rows = () => ctx.sql().query("SELECT key, value FROM _rivet_wf_kv ORDER BY key");
      const { rows: before } = await rows();
      expect(before.length).toBe(1);
      const many = Array.from({ length: 200 }, (_, i) => ({ key: Buffer.from([7, i]), value: Buffer.alloc(10) }));
      await failure(ctx.saveStateAndWorkflowBatch(many));
      expect((await rows()).rows.length).toBe(1);
    });
    expect(saved).toEqual(["one"]);
  });
});
