// The actors that connections and raw traffic are tried on.

import greenroom from "../index.js";

const { actor, event, UserError } = greenroom;

const tally = () => ({ before: 0, created: 0, connected: 0, disconnected: 0, woken: 0 });

/** Counts its hooks, and lets a client do everything a connection can. */
export const room = actor({
  state: { hooks: tally(), left: [] },
  onWake: (c) => {
    c.state.hooks.woken++;
  },
  onBeforeConnect: (c, params) => {
    c.state.hooks.before++;
    if (params?.name === "banned") {
      throw new UserError("You are not welcome", { code: "banned", metadata: { until: "tomorrow" } });
    }
    if (params?.name === "broken") throw new Error("secret: the list of guests is lost");
  },
  createConnState: (c, params) => {
    c.state.hooks.created++;
    return { name: params?.name ?? "nobody", spoken: 0 };
  },
  onConnect: (c, conn) => {
    c.state.hooks.connected++;
    conn.send("welcome", conn.state.name);
    if (conn.params?.name === "late") return new Promise(() => {});
  },
  onDisconnect: (c, conn) => {
    c.state.hooks.disconnected++;
    c.state.left.push(conn.state.name);
    c.broadcast("left", conn.state.name);
  },
  options: { onConnectTimeout: 1_000, actionTimeout: 2_000, maxOutgoingMessageSize: 1_048_576 },
  actions: {
    say: (c, text) => {
      c.conn.state.spoken++;
      c.broadcast("said", { from: c.conn.state.name, text });
      return `said ${text}`;
    },
    /** An event whose argument is what came in. */
    repeat: (c, ...values) => {
      c.broadcast("repeated", ...values);
    },
    burst: (c, count) => {
      for (let at = 0; at < count; at++) c.broadcast("tick", at);
      return count;
    },
    whisper: (c, text) => c.conn.send("whispered", text),
    me: ({ conn }) => ({
      id: conn.id,
      params: conn.params,
      state: { ...conn.state },
      hibernates: conn.isHibernatable,
    }),
    names: (c) => [...c.conns.values()].map((conn) => conn.state.name).sort(),
    hooks: (c) => ({ ...c.state.hooks }),
    left: (c) => [...c.state.left],
    /** Asks for the caller's connection to end; the answer may be lost with it. */
    kick: async (c, reason) => {
      await c.conn.disconnect(reason);
    },
    kickOthers: async (c) => {
      const others = [...c.conns.values()].filter(({ id }) => id !== c.conn.id);
      await Promise.all(others.map((conn) => conn.disconnect("out")));
      return others.length;
    },
    nap: (c) => c.sleep(),
    leave: (c) => c.destroy(),
    large: (_c, bytes) => "x".repeat(bytes),
    largeEvent: (c, bytes) => c.broadcast("large", "x".repeat(bytes)),
    size: (_c, text) => text.length,
    slow: (_c, ms, value) => new Promise((resolve) => setTimeout(resolve, ms, value)),
    hang: () => new Promise(() => {}),
    refuse: () => {
      throw new UserError("Not today", { code: "closed", metadata: { opensAt: 9 } });
    },
    boom: () => {
      throw new Error("secret: the password is 42");
    },
  },
});

/** Sleeps as soon as nobody needs it; its clients keep their sockets. */
export const sleeper = actor({
  state: { woken: 0, messages: 0 },
  options: { sleepTimeout: 200 },
  onWake: (c) => {
    c.state.woken++;
  },
  createConnState: () => ({ messages: 0 }),
  actions: {
    count: (c) => {
      c.conn.state.messages++;
      c.state.messages++;
      c.broadcast("counted", c.state.messages);
      return { mine: c.conn.state.messages, all: c.state.messages, woken: c.state.woken, id: c.conn.id };
    },
  },
});

/** Who may hear what. */
export const guarded = actor({
  events: { secret: event({ canSubscribe: (c) => c.conn.params?.role === "spy" }), open: event() },
  actions: {
    publish: (c) => {
      c.broadcast("secret", 1);
      c.broadcast("open", 2);
    },
  },
});

/** What a raw request looked like to the handler. */
async function described(c, request) {
  const { pathname, search } = new URL(request.url);
  return {
    method: request.method,
    url: request.url,
    path: pathname + search,
    header: request.headers.get("x-probe"),
    params: c.conn.params,
    body: await request.text(),
  };
}

/** One line a tick until the client has had enough. */
function ticking(c, request) {
  let at = 0;
  let timer;
  const encoder = new TextEncoder();
  const body = new ReadableStream({
    start(controller) {
      timer = setInterval(() => controller.enqueue(encoder.encode(`data: ${at++}\n\n`)), 20);
    },
    cancel() {
      clearInterval(timer);
      c.vars.cancelled++;
    },
  });
  request.signal.addEventListener("abort", () => c.vars.aborted++);
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

/** Raw HTTP and raw WebSockets. */
export const raw = actor({
  state: { closes: [] },
  vars: { cancelled: 0, aborted: 0 },
  onRequest: async (c, request) => {
    const { pathname } = new URL(request.url);
    switch (pathname) {
      case "/upload": {
        let bytes = 0;
        for await (const chunk of request.body) bytes += chunk.length;
        return Response.json({ bytes });
      }
      case "/same":
        return new Response(request.body, { headers: { "x-kept": "yes" } });
      case "/ticks":
        return ticking(c, request);
      case "/stats":
        return Response.json(c.vars);
      case "/refuse":
        throw new UserError("Not here", { code: "refused", metadata: { where: "here" } });
      case "/teapot":
        return new Response("short and stout", { status: 418 });
      case "/empty":
        return new Response(null, { status: 204 });
      default:
        return Response.json(await described(c, request));
    }
  },
  onWebSocket: (c, socket) => {
    const { pathname } = new URL(c.request.url);
    socket.send(JSON.stringify({ path: pathname, url: c.request.url, params: c.conn.params ?? null }));
    socket.addEventListener("close", ({ code, reason, wasClean }) => {
      c.state.closes.push({ code, reason, wasClean });
    });
    socket.addEventListener("message", ({ data }) => {
      if (data === "close") socket.close(4001, "custom.reason");
      else if (data === "nap") c.sleep();
      else socket.send(data);
    });
  },
  actions: { closes: (c) => [...c.state.closes] },
});

/** Its raw sockets outlast its sleep. */
export const rawSleeper = actor({
  options: { canHibernateWebSocket: true },
  state: { opened: 0, woken: 0 },
  onWake: (c) => {
    c.state.woken++;
  },
  onWebSocket: (c, socket) => {
    c.state.opened++;
    socket.addEventListener("message", ({ data }) => {
      if (data === "nap") c.sleep();
      else socket.send(`${data} ${c.state.opened} ${c.state.woken}`);
    });
  },
  actions: { counts: (c) => ({ ...c.state }), nap: (c) => c.sleep() },
});

/** Neither `onRequest` nor `onWebSocket`. */
export const closed = actor({ actions: { ping: () => "pong" } });

/** Counts what was acknowledged as durable. */
export const ledger = actor({
  state: { count: 0 },
  createConnState: (_c, params) => ({ name: params?.name ?? "nobody" }),
  actions: {
    /** Answers with what it added to, which is on disk by then; later calls may not be. */
    add: async (c) => {
      const count = ++c.state.count;
      await c.saveState({ immediate: true });
      c.broadcast("count", count);
      return count;
    },
    get: (c) => c.state.count,
    here: (c) => c.conns.size,
    id: (c) => c.conn.id,
  },
});
