import { describe, expect, test } from "vitest";
import { event, greenroom, registryOf, temporaryFolder } from "./fixtures/greenroom";
import { ownTime } from "./fixtures/host";
import { DAY, HOUR, MINUTE, SECOND, START, timed } from "./fixtures/timed";

const { actor } = greenroom;

const inShort = ({ group, code }: { group: string; code: string }) => ({ group, code });

/** Remembers what fired, and when it should have. */
const diary = actor({
  state: { fired: [] as [text: string, scheduledAt: number, kind: string][], wakes: 0 },
  options: { maxSchedules: 10_001 },
  onWake: (c) => void c.state.wakes++,
  actions: {
    note: async (c, ...args: any[]) => {
      const fire = args.pop();
      c.state.fired.push([args.join(" "), fire.scheduledAt, fire.kind]);
      await c.saveState({ immediate: true });
    },
    fired: (c) => c.state.fired,
    wakes: (c) => c.state.wakes,
    after: (c, ms: number, ...args: unknown[]) => c.schedule.after(ms, "note", ...args),
    at: (c, ms: number, ...args: unknown[]) => c.schedule.at(ms, "note", ...args),
    afterAll: async (c, delays: number[]) => {
      await Promise.all(delays.map((ms, at) => c.schedule.after(ms, "note", at)));
    },
    missing: (c) => c.schedule.after(0, "nobody"),
    list: (c) => c.schedule.list(),
    get: (c, id: string) => c.schedule.get(id),
    cancel: (c, id: string) => c.schedule.cancel(id),
    cron: (c, expression: string, timezone?: string) =>
      c.cron.set({ name: "job", expression, action: "note", args: ["cron"], ...(timezone && { timezone }) }),
    every: (c, interval: number) => c.cron.every({ name: "job", interval, action: "note", args: ["every"] }),
    afterCaught: (c, ms: any) => c.schedule.after(ms, "note").catch(inShort),
    atCaught: (c, ms: any) => c.schedule.at(ms, "note").catch(inShort),
    everyCaught: (c, ms: any) => c.cron.every({ name: "job", interval: ms, action: "note" }).catch(inShort),
    job: (c) => c.cron.get("job"),
    jobs: (c) => c.cron.list(),
    unset: (c) => c.cron.delete("job"),
    history: (c, limit?: number) => c.cron.history("job", limit === undefined ? {} : { limit }),
  },
});

const times = (fired: [string, number, string][]) => fired.map(([, at]) => at);

describe("a scheduled action", () => {
  test("fires at its time, once, on the real clock", async () => {
    const fired = event<any>();
    const bell = actor({
      actions: {
        ring: (_c, ...args: unknown[]) => fired.happen(args),
        set: (c) => c.schedule.after(50, "ring", "now", 2n),
      },
    });
    const start = Date.now();
    const id = await registryOf({ bell }).client().bell.getOrCreate("a").set();
    const [text, number, info] = await fired.promise;
    expect([text, number]).toEqual(["now", 2n]);
    expect(info).toEqual({ kind: "at", id, scheduledAt: expect.any(Number), firedAt: expect.any(Number) });
    expect(info.firedAt - start).toBeGreaterThanOrEqual(49);
  });
});

describe("a scheduled action, on a clock that the test moves", ownTime, () => {
  test("is refused with a clear error if its time is no number", async () => {
    const { client } = timed({ diary });
    const handle = client.diary.getOrCreate("a");
    for (const time of ["5", null, {}, Number.NaN, Number.POSITIVE_INFINITY, 1e300]) {
      for (const call of ["after", "at", "every"] as const) {
        const failed = handle.action({ name: `${call}Caught`, args: [time] });
        expect(await failed, `${call}(${time})`).toMatchObject({ group: "napi", code: "invalid_argument" });
      }
    }
    expect(await handle.list()).toEqual([]);
  });

  test("is listed, cancelled, and fires in the order of its time", async () => {
    const { client, advance } = timed({ diary });
    const handle = client.diary.getOrCreate("a");
    const late = await handle.after(2 * HOUR, "late");
    await handle.after(HOUR, "early");
    const gone = await handle.after(90 * MINUTE, "gone");
    expect((await handle.list()).map(({ args, runAt }) => [args, runAt])).toEqual([
      [["early"], START + HOUR],
      [["gone"], START + 90 * MINUTE],
      [["late"], START + 2 * HOUR],
    ]);
    expect(await handle.get(late)).toMatchObject({ id: late, action: "note", args: ["late"] });
    expect(await handle.cancel(gone)).toBe(true);
    expect(await handle.cancel(gone)).toBe(false);
    await advance(3 * HOUR);
    expect(await handle.fired()).toEqual([
      ["early", START + HOUR, "at"],
      ["late", START + 2 * HOUR, "at"],
    ]);
    expect(await handle.get(late)).toBeUndefined();
    // It slept in between, and was woken by each.
    expect(await handle.wakes()).toBeGreaterThanOrEqual(3);
  });

  test("waits for sixty days, and one in the past for nothing", async () => {
    const { client, advance } = timed({ diary });
    const handle = client.diary.getOrCreate("a");
    await handle.after(60 * DAY, "patience");
    await handle.at(START - DAY, "past");
    await advance(1);
    expect(await handle.fired()).toEqual([["past", START - DAY, "at"]]);
    await advance(60 * DAY - 2);
    expect((await handle.fired()).length).toBe(1);
    await advance(1);
    expect(times(await handle.fired())).toEqual([START - DAY, START + 60 * DAY]);
  });

  test("fires once after a crash, by itself, and at once if it is overdue", async () => {
    const dataDir = temporaryFolder();
    const first = timed({ diary }, { dataDir });
    await first.client.diary.getOrCreate("a").after(HOUR, "soon");
    await first.client.diary.getOrCreate("b").after(10 * DAY, "later");
    await first.crash();

    const woken = event<string>();
    const watching = actor({ ...diary.config, onWake: (c: any) => woken.happen(c.key[0]) });
    const second = timed({ diary: watching as typeof diary }, { dataDir, start: START + DAY });
    // Opening the directory is all that happens: no call, no client.
    await second.open();
    expect(await woken.promise).toBe("a");
    await second.advance(1);
    expect(await second.client.diary.get("a").fired()).toEqual([["soon", START + HOUR, "at"]]);
    await second.advance(9 * DAY);
    expect(await second.client.diary.get("a").fired()).toHaveLength(1);
    expect(await second.client.diary.get("b").fired()).toEqual([["later", START + 10 * DAY, "at"]]);
  });

  test("of an action that does not exist is dropped", async () => {
    const { client, advance } = timed({ diary });
    const handle = client.diary.getOrCreate("a");
    await handle.missing();
    await advance(SECOND);
    expect(await handle.list()).toEqual([]);
  });

  test("may destroy its actor, which takes its other schedules with it", async () => {
    const destroyed = event();
    const bomb = actor({
      onDestroy: () => destroyed.happen(),
      actions: {
        arm: async (c) => {
          await c.schedule.after(SECOND, "explode");
          await c.cron.every({ name: "tick", interval: 5_000, action: "explode" });
        },
        explode: (c) => c.destroy(),
        jobs: (c) => c.cron.list(),
      },
    });
    const { client, advance } = timed({ bomb });
    await client.bomb.getOrCreate("a").arm();
    await advance(2 * SECOND);
    await destroyed.promise;
    await advance(DAY);
    await expect(client.bomb.get("a").jobs()).rejects.toMatchObject({ code: "not_found" });
    expect(await client.bomb.getOrCreate("a").jobs()).toEqual([]);
  });

  test("comes in ten thousands on one actor, in order", { timeout: 180_000 }, async () => {
    const order: number[] = [];
    const many = actor({
      options: { maxSchedules: 10_000, noSleep: true },
      actions: {
        tick: (_c, at: number) => void order.push(at),
        arm: async (c, from: number, to: number) => {
          const numbers = Array.from({ length: to - from }, (_, i) => from + i);
          await Promise.all(numbers.map((at) => c.schedule.after(HOUR + (at % 50), "tick", at % 50)));
        },
        more: (c) => c.schedule.after(HOUR, "tick", -1),
        left: async (c) => (await c.schedule.list()).length,
      },
    });
    const { client, advance } = timed({ many });
    const handle = client.many.getOrCreate("a");
    for (let at = 0; at < 10_000; at += 2_000) await handle.arm(at, at + 2_000);
    await expect(handle.more()).rejects.toMatchObject({ code: "max_schedules_exceeded" });
    expect(await handle.left()).toBe(10_000);
    await advance(HOUR - 1);
    expect(order).toEqual([]);
    await advance(100);
    expect(await handle.left()).toBe(0);
    expect(order.length).toBe(10_000);
    expect(order.every((at, i) => at === Math.floor(i / 200))).toBe(true);
  });
});

describe("a cron job", ownTime, () => {
  /** When a job fires, as UTC texts, from a start over so many days. */
  const fires = async (expression: string, zone: string, from: string, days: number) => {
    const { client, advance } = timed({ diary }, { start: Date.parse(from) });
    const handle = client.diary.getOrCreate("a");
    await handle.cron(expression, zone);
    await advance(days * DAY);
    return times(await handle.fired()).map((at) => new Date(at).toISOString().slice(0, 16));
  };

  // Spring: 2:30 does not exist. Autumn: it comes twice, and counts once.
  test.each([
    ["Europe/Berlin", "30 2 * * *", "2026-03-28T12:00Z", 3, ["2026-03-30T00:30", "2026-03-31T00:30"]],
    ["Europe/Berlin", "30 2 * * *", "2026-10-24T12:00Z", 2, ["2026-10-25T00:30", "2026-10-26T01:30"]],
    ["America/New_York", "30 2 * * *", "2026-03-07T12:00Z", 3, ["2026-03-09T06:30", "2026-03-10T06:30"]],
    ["America/New_York", "30 1 * * *", "2026-10-31T12:00Z", 2, ["2026-11-01T05:30", "2026-11-02T06:30"]],
    ["Australia/Lord_Howe", "15 2 * * *", "2026-10-03T02:00Z", 2, ["2026-10-04T15:15"]],
    ["Australia/Lord_Howe", "45 1 * * *", "2026-04-04T02:00Z", 2, ["2026-04-04T14:45", "2026-04-05T15:15"]],
    // Apia skipped 30 December 2011 altogether.
    [
      "Pacific/Apia",
      "0 12 * * *",
      "2011-12-29T00:00Z",
      3,
      ["2011-12-29T22:00", "2011-12-30T22:00", "2011-12-31T22:00"],
    ],
  ])("in %s at '%s' from %s keeps to its wall clock", async (zone, expression, from, days, expected) => {
    expect(await fires(expression, zone, from, days)).toEqual(expected);
  });

  test("fires on every 29 February there is, and an impossible date is refused", async () => {
    const { client } = timed({ diary });
    const handle = client.diary.getOrCreate("a");
    await expect(handle.cron("0 0 30 2 *")).rejects.toMatchObject({ code: "invalid_cron_expression" });
    await handle.cron("0 0 29 2 *");
    expect((await handle.job())?.nextRunAt).toBe(Date.UTC(2028, 1, 29));
  });

  test("is set, described, replaced and deleted by name", async () => {
    const { client, advance } = timed({ diary });
    const handle = client.diary.getOrCreate("a");
    await handle.cron("0 9 * * 1-5", "Europe/Berlin");
    expect(await handle.job()).toEqual({
      name: "job",
      kind: "cron",
      expression: "0 9 * * 1-5",
      timezone: "Europe/Berlin",
      action: "note",
      args: ["cron"],
      nextRunAt: START + 8 * HOUR,
      maxHistory: 100,
    });
    await handle.every(10 * MINUTE);
    expect(await handle.jobs()).toEqual([
      {
        name: "job",
        kind: "every",
        interval: 600_000,
        action: "note",
        args: ["every"],
        nextRunAt: START + 10 * MINUTE,
        maxHistory: 100,
      },
    ]);
    await advance(25 * MINUTE);
    expect((await handle.job())?.lastRunAt).toBe(START + 20 * MINUTE);
    expect(await handle.history()).toEqual(
      [20, 10].map((minute) => ({
        action: "note",
        scheduledAt: START + minute * MINUTE,
        firedAt: START + minute * MINUTE,
        finishedAt: START + minute * MINUTE,
        result: "ok",
      })),
    );
    expect(await handle.history(1)).toHaveLength(1);
    expect(await handle.unset()).toBe(true);
    expect(await handle.unset()).toBe(false);
    expect(await handle.history()).toEqual([]);
    await advance(DAY);
    expect(await handle.fired()).toHaveLength(2);
  });

  test("set again in each wake is neither delayed nor multiplied", async () => {
    let fired = 0;
    const restless = actor({
      options: { sleepTimeout: 500 },
      onWake: (c) => c.cron.every({ name: "tick", interval: 5_000, action: "tick" }),
      actions: { tick: () => void fired++, start: () => {} },
    });
    const { client, advance } = timed({ restless });
    await client.restless.getOrCreate("a").start();
    await advance(61 * SECOND);
    expect(fired).toBe(12);
  });

  test("is like a single schedule that each wake sets again: one beat a second", async () => {
    const beats: number[] = [];
    const pulse = actor({
      options: { sleepTimeout: 100 },
      onWake: (c) => void c.schedule.after(SECOND, "beat"),
      actions: { beat: (_c, { scheduledAt }) => void beats.push(scheduledAt - START), start: () => {} },
    });
    const { client, advance } = timed({ pulse });
    await client.pulse.getOrCreate("a").start();
    await advance(30 * SECOND);
    expect(beats).toEqual(Array.from({ length: 30 }, (_, i) => (i + 1) * SECOND));
  });

  test("fires once for what it missed, and keeps its phase", async () => {
    const dataDir = temporaryFolder();
    const first = timed({ diary }, { dataDir });
    await first.client.diary.getOrCreate("a").every(HOUR);
    await first.advance(HOUR);
    await first.crash();
    const second = timed({ diary }, { dataDir, start: START + 10 * HOUR + 7 * MINUTE });
    await second.open();
    await second.advance(HOUR);
    expect(times(await second.client.diary.get("a").fired()).map((at) => (at - START) / HOUR)).toEqual([1, 2, 11]);
  });

  test("skips a fire while the one before still runs, and says so", async () => {
    const release = event();
    const slow = actor({
      actions: {
        set: (c) => c.cron.every({ name: "job", interval: 5_000, action: "crawl" }),
        crawl: () => release.promise,
        history: (c) => c.cron.history("job"),
      },
    });
    const { client, advance } = timed({ slow });
    const handle = client.slow.getOrCreate("a");
    await handle.set();
    await advance(16 * SECOND);
    expect((await handle.history()).map(({ result }) => result)).toEqual(["skipped", "skipped", "running"]);
    release.happen();
    await advance(5 * SECOND);
    expect((await handle.history()).map(({ result }) => result)).toEqual(["ok", "skipped", "skipped", "ok"]);
  });

  test("remembers an interrupted run and a failure as clients may see it", async () => {
    const dataDir = temporaryFolder();
    const shaky = () =>
      actor({
        actions: {
          set: async (c) => {
            await c.cron.every({ name: "hang", interval: 5_000, action: "hang" });
            await c.cron.every({ name: "fail", interval: 5_000, action: "fail" });
            await c.cron.every({ name: "secret", interval: 5_000, action: "leak" });
            await c.cron.every({ name: "lost", interval: 5_000, action: "nowhere" });
          },
          hang: () => new Promise(() => {}),
          fail: () => {
            throw new greenroom.UserError("no luck", { code: "luck", metadata: { tries: 3 } });
          },
          leak: () => {
            throw new Error("password: hunter2");
          },
          last: async (c, name: string) => (await c.cron.history(name))[0],
          jobs: async (c) => (await c.cron.list()).map(({ name }) => name),
        },
      });
    const first = timed({ shaky: shaky() }, { dataDir });
    const handle = first.client.shaky.getOrCreate("a");
    await handle.set();
    await first.advance(5 * SECOND);
    expect(await handle.last("fail")).toMatchObject({
      result: "error",
      error: { group: "user", code: "luck", message: "no luck", metadata: { tries: 3 } },
    });
    expect(JSON.stringify(await handle.last("secret"))).not.toContain("hunter2");
    // A job without its action is deleted, and its history tells why.
    expect((await handle.jobs()).sort()).toEqual(["fail", "hang", "secret"]);
    expect(await handle.last("lost")).toMatchObject({ error: { group: "actor", code: "action_not_found" } });
    const start = first.now();
    await first.crash();
    const second = timed({ shaky: shaky() }, { dataDir, start });
    expect(await second.client.shaky.get("a").last("hang")).toMatchObject({
      result: "error",
      error: { group: "schedule", code: "interrupted" },
    });
  });

  test("finds the clock standing still while its actor wakes, fires and sleeps again", async () => {
    const moved: number[] = [];
    const fired: number[] = [];
    const shop = actor({
      onSleep: async (c) => {
        const before = kit.now();
        await c.kv.put("slept", "yes");
        await c.saveState({ immediate: true });
        moved.push(kit.now() - before);
      },
      actions: {
        set: (c) => c.cron.every({ name: "daily", interval: DAY, action: "tick" }),
        tick: (_c, { scheduledAt }) => void fired.push(scheduledAt),
      },
    });
    const kit = timed({ shop });
    await kit.client.shop.getOrCreate("a").set();
    await kit.advance(60 * DAY + HOUR);
    expect(fired).toEqual(Array.from({ length: 60 }, (_, day) => START + (day + 1) * DAY));
    expect(moved).toEqual(Array.from({ length: 61 }, () => 0));
  });

  test("runs a year in order, in little time", async () => {
    const days: number[] = [];
    const yearly = actor({
      options: { noSleep: true },
      actions: {
        set: (c) => c.cron.set({ name: "daily", expression: "0 6 * * *", action: "tick" }),
        tick: (_c, fire: { scheduledAt: number }) => void days.push(fire.scheduledAt),
      },
    });
    const { client, advance } = timed({ yearly });
    await client.yearly.getOrCreate("a").set();
    await advance(365 * DAY);
    const expected = Array.from({ length: 365 }, (_, day) => START + day * DAY + 6 * HOUR);
    expect([days.length, days.every((day, at) => day === expected[at])]).toEqual([365, true]);
  });
});

describe("a wall clock that is set", ownTime, () => {
  test("back an hour fires nothing twice; forward a year fires what is due once", async () => {
    const dataDir = temporaryFolder();
    const at = (start: number) => timed({ diary }, { dataDir, start });
    const first = at(START);
    const handle = first.client.diary.getOrCreate("a");
    await handle.every(HOUR);
    await handle.after(90 * MINUTE, "once");
    await first.advance(2 * HOUR);
    expect(await handle.fired()).toHaveLength(3);
    await first.crash();
    const back = at(START + HOUR);
    await back.open();
    await back.advance(59 * MINUTE);
    expect(await back.client.diary.get("a").fired()).toHaveLength(3);
    await back.crash();
    const forward = at(START + 365 * DAY + 30 * MINUTE);
    await forward.open();
    await forward.advance(1);
    const fired = await forward.client.diary.get("a").fired();
    expect(fired).toHaveLength(4);
    await forward.advance(HOUR);
    const last = times(await forward.client.diary.get("a").fired()).at(-1);
    expect(last).toBe(START + 365 * DAY + HOUR);
  });
});
