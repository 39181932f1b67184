import { actor, queue } from "rivetkit";
import { Loop, workflow } from "rivetkit/workflow";

export const osc = actor({
  state: { v: 0, changes: 0, nested: { a: [] } },
  vars: { calls: [] },
  onStateChange: (c, s) => {
    c.vars.calls.push(JSON.stringify(s).length > 0 ? s.v : -1);
  },
  actions: {
    set: (c, v) => {
      c.state.v = v;
    },
    nested: (c) => {
      c.state.nested.a.push(1);
    },
    noop: (c) => c.state.v,
    calls: (c) => [...c.vars.calls],
    multi: (c) => {
      c.state.v = 1;
      c.state.v = 2;
      c.state.v = 3;
    },
    same: (c) => {
      const { v } = c.state;
      c.state.v = v;
    },
  },
});
export const oscBad = actor({
  state: { v: 0 },
  onStateChange: (c) => {
    c.state.v++;
  },
  actions: {
    set: (c) => {
      c.state.v = 5;
      return c.state.v;
    },
    get: (c) => c.state.v,
  },
});

export const runA = actor({
  state: { ticks: 0, exits: 0, starts: 0 },
  options: { sleepTimeout: 2_000 },
  run: async (c) => {
    c.state.starts++;
    while (!c.aborted) {
      c.state.ticks++;
      await new Promise((r) => {
        const t = setTimeout(r, 20);
        c.abortSignal.addEventListener(
          "abort",
          () => {
            clearTimeout(t);
            r();
          },
          { once: true },
        );
      });
    }
    c.state.exits++;
  },
  actions: {
    get: (c) => ({ starts: c.state.starts, exits: c.state.exits, ticking: c.state.ticks > 0 }),
    sleep: (c) => c.sleep(),
    destroy: (c) => c.destroy(),
  },
});
export const runExit = actor({
  state: { starts: 0 },
  options: { sleepTimeout: 2_000 },
  run: async (c) => {
    c.state.starts++;
  },
  actions: { get: (c) => c.state.starts },
});
export const runThrow = actor({
  state: { starts: 0 },
  run: async (c) => {
    c.state.starts++;
    throw new Error("run failed");
  },
  actions: { get: (c) => c.state.starts },
});

export const inline = actor({
  actions: {
    call: async (c, key) => {
      const cl = c.client();
      return cl.plain.getOrCreate([key]).inc(3);
    },
    conn: async (c, key) => {
      const cl = c.client();
      const k = cl.conn.getOrCreate([key]).connect();
      const got = new Promise((r) => k.on("tick", (...a) => r(a)));
      await k.ids();
      await k.tick(1, 2);
      const out = await got;
      await k.dispose();
      return out;
    },
    err: async (c) => {
      try {
        await c.client().plain.getOrCreate(["ierr"]).user();
      } catch (e) {
        return [e.group, e.code, e.message, e.metadata];
      }
    },
    missing: async (c) => {
      try {
        await c.client().plain.get(["never-was"]).inc();
      } catch (e) {
        return [e.group, e.code];
      }
    },
  },
});
export const badCreate = actor({
  createState: () => {
    throw new Error("no state");
  },
  actions: { x: () => 1 },
});
export const inputA = actor({
  createState: (_c, input) => ({ input: input ?? null }),
  actions: { get: (c) => c.state.input },
});
export const noState = actor({
  actions: {
    st: (c) => {
      try {
        return c.state ?? "undef";
      } catch (e) {
        return [e.group, e.code, e.message];
      }
    },
    vars: (c) => {
      try {
        return c.vars ?? "undef";
      } catch (e) {
        return [e.group, e.code];
      }
    },
    db: (c) => {
      try {
        return c.db ? "db" : "nodb";
      } catch (e) {
        return [e.group, e.code];
      }
    },
  },
});
export const access = actor({
  state: {},
  onBeforeConnect: (_c, _p) => {},
  actions: { pub: () => "pub", priv: () => "priv" },
});
export const wf = actor({
  state: { log: [] },
  queues: { go: queue() },
  actions: { log: (c) => [...c.state.log], sleep: (c) => c.sleep() },
  run: workflow(async (ctx) => {
    await ctx.step("one", async (c) => {
      c.state.log.push("one");
      return 1;
    });
    await ctx.sleep("nap", 100);
    const r = await ctx.loop({
      name: "l",
      state: { i: 0 },
      run: async (l, s) => {
        await l.step(`s`, async (c) => {
          c.state.log.push(`l${s.i}`);
        });
        return s.i >= 1 ? Loop.break("lb") : Loop.continue({ i: s.i + 1 });
      },
    });
    const m = await ctx.queue.next("w", { names: ["go"] });
    await ctx.step("two", async (c) => {
      c.state.log.push(["two", r, m.body]);
    });
    const j = await ctx.join("jn", {
      a: { run: async (b) => b.step("ja", async () => 1) },
      b: { run: async (b) => b.step("jb", async () => 2) },
    });
    await ctx.step("three", async (c) => {
      c.state.log.push(j);
    });
    const race = await ctx.race("rc", [
      { name: "fast", run: async (b) => b.step("f", async () => "fast") },
      {
        name: "slow",
        run: async (b) => {
          await b.sleep("zz", 5000);
          return "slow";
        },
      },
    ]);
    await ctx.step("four", async (c) => {
      c.state.log.push(race);
    });
  }),
});
