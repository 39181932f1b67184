// Actors that the probes of `probes/` are run against: actions, state, lifecycle and
// connections.

import { setTimeout as pause } from "node:timers/promises";
import { actor, event, UserError } from "rivetkit";

const log = (c, what) => {
  c.state.log ??= [];
  c.state.log.push(what);
};

export const plain = actor({
  state: { count: 0, log: [] },
  onCreate: (c, input) => {
    c.state.input = input ?? "none";
  },
  createVars: () => ({ v: 1 }),
  options: { actionTimeout: 5_000 },
  actions: {
    inc: (c, n = 1) => (c.state.count += n),
    get: (c) => ({ ...c.state }),
    meta: (c) => ({ name: c.name, key: c.key, region: c.region, idLen: c.actorId.length, vars: c.vars }),
    user: () => {
      throw new UserError("bad thing", { code: "my_code", metadata: { a: 1 } });
    },
    user2: () => {
      throw new UserError("just msg");
    },
    plainErr: () => {
      throw new Error("secret");
    },
    str: () => {
      throw "a string";
    },
    slow: async () => {
      await pause(8_000);
      return "late";
    },
    conns: (c) => [...c.conns.values()].map((x) => ({ params: x.params, hib: x.isHibernatable })),
    sleep: (c) => {
      c.sleep();
    },
    destroy: (c) => {
      c.destroy();
    },
    destroyTwice: (c) => {
      c.destroy();
      c.destroy();
    },
    echo: (_, x) => x,
    types: () => ({
      d: new Date(0),
      m: new Map([[1, 2]]),
      s: new Set([1]),
      b: 10n,
      u: undefined,
      n: null,
      u8: new Uint8Array([1, 2]),
      ab: new Uint8Array([3]).buffer,
      nan: NaN,
      inf: Infinity,
      nested: [undefined, 1],
    }),
    big: (_, n) => "x".repeat(n),
    undef: () => undefined,
    many: (_c, ...args) => args.length,
    abortSignal: (c) => ({ aborted: c.abortSignal?.aborted ?? c.aborted }),
    setBadState: (c) => {
      c.state.fn = () => 1;
    },
    setDate: (c) => {
      c.state.d = new Date(5);
      c.state.m = new Map([["a", 1n]]);
    },
    readDate: (c) => [c.state.d instanceof Date, c.state.m instanceof Map],
    replaceState: (c) => {
      c.state = { count: 100, log: [] };
      return c.state.count;
    },
    saveNow: async (c) => {
      c.state.count = 7;
      await c.saveState({ immediate: true });
      return "saved";
    },
    group: { nested: (_c) => "nested" },
  },
});

export const life = actor({
  state: { log: [] },
  onCreate: (c) => log(c, "create"),
  onWake: (c) => log(c, "wake"),
  onSleep: (c) => log(c, "sleep"),
  createConnState: (c, params) => {
    log(c, "createConnState");
    return { p: params ?? null, n: 0 };
  },
  onBeforeConnect: (c, params) => {
    log(c, "beforeConnect");
    if (params?.reject) throw new UserError("rejected", { code: "rej" });
    if (params?.throwPlain) throw new Error("plain");
  },
  onConnect: (c, conn) => {
    log(c, "connect");
    if (conn.params?.failConnect) throw new UserError("no connect", { code: "nc" });
  },
  onDisconnect: (c, _conn) => log(c, "disconnect"),
  onBeforeActionResponse: (_c, name, args, out) => (name === "wrapped" ? { name, args, out } : out),
  options: { sleepTimeout: 2_000 },
  actions: {
    log: (c) => [...c.state.log],
    wrapped: (_c, a) => a * 2,
    sleep: (c) => c.sleep(),
    destroy: (c) => c.destroy(),
    connState: (c) => {
      c.conn.state.n += 1;
      return { ...c.conn.state };
    },
    nconns: (c) => c.conns.size,
    slow: async (c, ms) => {
      await pause(ms);
      log(c, "slow done");
      return "slow done";
    },
    keep: (c, ms) => {
      c.waitUntil(pause(ms).then(() => log(c, "waitUntil done")));
    },
    keepAwake: (c, ms) => {
      c.keepAwake?.(pause(ms).then(() => log(c, "keepAwake done")));
    },
    kick: (c) => {
      for (const conn of c.conns.values()) if (conn.id !== c.conn.id) conn.disconnect("kicked");
    },
  },
});

export const conn = actor({
  state: { n: 0 },
  connState: { n: 0 },
  events: { tick: event(), secret: event({ canSubscribe: (c) => c.conn?.params?.ok === true }) },
  actions: {
    tick: (c, x, y) => {
      c.broadcast("tick", x, y);
      return "ok";
    },
    sendMe: (c, x) => {
      c.conn.send("tick", x);
    },
    sendOther: (c, x) => {
      for (const k of c.conns.values()) if (k.id !== c.conn.id) k.send("tick", x);
    },
    broadcastSecret: (c) => c.broadcast("secret", 1),
    incConn: (c) => ++c.conn.state.n,
    req: (c) => ({
      url: c.conn.request?.url ? new URL(c.conn.request.url).pathname : (c.request?.url ?? null),
      h: c.conn.request?.headers?.get?.("x-test") ?? null,
    }),
    ids: (c) => [...c.conns.keys()].length,
    fail: () => {
      throw new UserError("conn fail", { code: "cf", metadata: { k: "v" } });
    },
    failPlain: () => {
      throw new Error("hidden");
    },
    sleep: (c) => c.sleep(),
    destroy: (c) => c.destroy(),
    big: (_c, n) => "y".repeat(n),
    bigEvent: (c, n) => {
      c.broadcast("tick", "z".repeat(n));
    },
    echo: (_c, x) => x,
    slow: async (_c, ms) => {
      await pause(ms);
      return ms;
    },
    hib: (c) => c.conn.isHibernatable,
  },
});
