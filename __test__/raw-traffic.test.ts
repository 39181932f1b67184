import { getEventListeners, once } from "node:events";
import { request } from "node:http";
import { describe, expect, test, vi } from "vitest";
import { collectGarbage } from "./fixtures/garbage";
import { event, greenroom, served } from "./fixtures/greenroom";
import { onEngine, unlessOnEngine } from "./fixtures/host";

const { actor, UserError } = greenroom;

const rewoken = unlessOnEngine("an engine's gateway may miss a wake that comes within a moment of the sleep");
const halves = unlessOnEngine("an engine cancels what it has not read of a request when the response begins");

/** Requests and signals of theirs that were collected. */
let collected = 0;
const garbage = new FinalizationRegistry(() => collected++);

const raw = actor({
  state: { opened: 0 },
  vars: { cancelled: 0, aborted: 0, ended: 0, ends: new AbortController().signal },
  onWake: (c) => {
    c.vars.ends = c.abortSignal;
  },
  onRequest: async (c, request) => {
    const { pathname } = new URL(request.url);
    request.signal.addEventListener("abort", () => void c.vars.aborted++);
    c.abortSignal.addEventListener("abort", () => void c.vars.ended++);
    for (const each of [request, c.abortSignal]) garbage.register(each, undefined);
    if (pathname === "/read") return new Response(await request.arrayBuffer(), { headers: { "x-kept": "yes" } });
    if (pathname === "/same") return new Response(request.body, { headers: { "x-kept": "yes" } });
    if (pathname === "/conns") return Response.json({ conns: c.conns.size });
    if (pathname === "/empty") return new Response(null, { status: 204 });
    if (pathname === "/refuse") throw new UserError("no", { code: "refused" });
    if (pathname === "/forever") {
      const body = new ReadableStream({
        start: (controller) => controller.enqueue(new Uint8Array(1)),
        cancel: () => void c.vars.cancelled++,
      });
      return new Response(body);
    }
    return Response.json({ pathname, method: request.method, params: c.conn.params ?? null });
  },
  onWebSocket: (c, socket) => {
    c.state.opened++;
    const { pathname, search } = new URL(c.request?.url ?? "http://x");
    socket.send(JSON.stringify([pathname, search, c.conn.params ?? null]));
    socket.addEventListener("message", ({ data }) => {
      if (data === "nap") c.sleep();
      else if (data === "close") socket.close(4001, "custom.reason");
      else socket.send(data as string);
    });
  },
  options: { canHibernateWebSocket: true },
  actions: {
    opened: (c) => c.state.opened,
    requests: ({ vars: { cancelled, aborted, ended, ends } }) => {
      return { cancelled, aborted, ended, listeners: getEventListeners(ends, "abort").length };
    },
  },
});

/** The messages of a socket, one after the other. */
function inbox(socket: WebSocket) {
  socket.binaryType = "arraybuffer";
  const messages: unknown[] = [];
  let wake = event();
  const closed = event<{ code: number; reason: string }>();
  socket.addEventListener("message", ({ data }) => {
    messages.push(data);
    wake.happen();
  });
  socket.addEventListener("close", closed.happen);
  const next = async () => {
    while (messages.length === 0) {
      await wake.promise;
      wake = event();
    }
    return messages.shift();
  };
  return { next, closed: closed.promise };
}

async function ways() {
  const { local, clientIn } = await served({ raw });
  return Object.entries({ local, network: clientIn("json") });
}

describe("a raw socket", () => {
  test("carries text and bytes both ways, with path and parameters", async () => {
    for (const [way, client] of await ways()) {
      const handle = client.raw.getOrCreate(way, { params: { who: "me" } });
      const socket = (await handle.webSocket("a/b?c=1")) as unknown as WebSocket;
      const { next } = inbox(socket);
      expect(JSON.parse((await next()) as string), way).toEqual(["/websocket/a/b", "?c=1", { who: "me" }]);
      socket.send("text é");
      expect(await next()).toBe("text é");
      socket.send(new Uint8Array([1, 0, 255]));
      expect([...new Uint8Array((await next()) as ArrayBuffer)]).toEqual([1, 0, 255]);
      socket.close();
    }
  });

  test("ends with the code and the reason of whoever closed it", async () => {
    for (const [way, client] of await ways()) {
      const socket = (await client.raw.getOrCreate(way).webSocket()) as unknown as WebSocket;
      const { next, closed } = inbox(socket);
      await next();
      socket.send("close");
      const { code, reason } = await closed;
      expect([code, reason], way).toEqual([4001, "custom.reason"]);
    }
  });

  test("outlasts the sleep of its actor where the actor wants that", rewoken, async () => {
    for (const [way, client] of await ways()) {
      const handle = client.raw.getOrCreate(way);
      const socket = (await handle.webSocket()) as unknown as WebSocket;
      const { next } = inbox(socket);
      await next();
      socket.send("nap");
      await vi.waitFor(async () => expect(await handle.opened(), way).toBe(2), 10_000);
      // Its handler greeted again when the actor woke.
      expect(JSON.parse((await next()) as string)[0]).toBe("/websocket/");
      socket.send("awake?");
      expect(await next()).toBe("awake?");
      socket.close();
    }
  });
});

describe("raw requests", () => {
  test("keep method, path, parameters and body", async () => {
    for (const [way, client] of await ways()) {
      const handle = client.raw.getOrCreate(way, { params: { who: "me" } });
      const response = await handle.fetch("/a/b?c=1", { method: "DELETE" });
      expect(await response.json(), way).toEqual({ pathname: "/a/b", method: "DELETE", params: { who: "me" } });
      const kept = onEngine ? "/read" : "/same";
      const same = await handle.fetch(kept, { method: "POST", body: new Uint8Array(300_000).fill(7) });
      expect(same.headers.get("x-kept")).toBe("yes");
      expect(Buffer.from(await same.arrayBuffer()).equals(Buffer.alloc(300_000, 7))).toBe(true);
      expect((await handle.fetch("/empty", { method: "HEAD" })).status).toBe(204);
    }
  });

  test("stream in both directions at once", halves, async () => {
    for (const [way, client] of await ways()) {
      let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
      const body = new ReadableStream<Uint8Array>({ start: (given) => void (controller = given) });
      const say = (text: string) => controller?.enqueue(new TextEncoder().encode(text));
      say("one");
      const response = await client.raw.getOrCreate(way).fetch("/same", { method: "POST", body });
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      const heard = async () => new TextDecoder().decode((await reader.read()).value);
      expect(await heard(), way).toBe("one");
      say("two");
      expect(await heard()).toBe("two");
      controller?.close();
      expect((await reader.read()).done).toBe(true);
    }
  });

  test("end when their signal fires, and their handler hears of it", async () => {
    for (const [way, client] of await ways()) {
      const handle = client.raw.getOrCreate(way);
      const leave = new AbortController();
      const response = await handle.fetch("/forever", { signal: leave.signal });
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      expect((await reader.read()).value, way).toHaveLength(1);
      // Neither side holds its request any more.
      await collectGarbage();
      leave.abort(new Error("enough"));
      await expect(reader.read()).rejects.toThrow("enough");
      const heard = { cancelled: 1, aborted: 1, ended: 1 };
      await vi.waitFor(async () => expect(await handle.requests()).toMatchObject(heard), 10_000);
      await expect(handle.fetch("/x", { signal: AbortSignal.abort(new Error("never")) })).rejects.toThrow("never");
    }
  });

  test("leave nothing behind with their actor, and have a signal that says when they are over", async () => {
    for (const [way, client] of await ways()) {
      const handle = client.raw.getOrCreate(way);
      collected = 0;
      const before = await handle.requests();
      const answers = Array.from({ length: 20 }, async () => (await handle.fetch("/read")).arrayBuffer());
      await Promise.all(answers);
      const after = { ...before, ended: before.ended + 20 };
      await vi.waitFor(async () => expect(await handle.requests(), way).toEqual(after), 10_000);
      // Forty, but for what a loop still has in hand.
      await vi.waitFor(async () => {
        await collectGarbage();
        expect(collected, way).toBeGreaterThan(35);
      }, 10_000);
    }
  });

  test("that no handler can be given are refused, and keep nobody awake", halves, async () => {
    const { url } = await served({ raw });
    const gateway = `${url}/gateway/raw/`;
    const ask = async (method: string, path: string) => {
      const query = "rvt-namespace=default&rvt-method=getOrCreate&rvt-runner=default&rvt-key=odd";
      const sent = request(`${gateway}${path}?${query}`, { method }).end();
      const [answer] = await once(sent, "response");
      return JSON.parse(Buffer.concat(await answer.toArray()).toString());
    };
    for (const [method, path] of [
      ["GET", "request//"],
      ["TRACE", "request/x"],
    ] as const) {
      expect(await ask(method, path)).toMatchObject({ group: "actor", code: "invalid_request" });
    }
    expect(await (await ask("GET", "request/conns")).conns).toBe(1);
  });

  test("to nobody, and those that a handler refuses, answer as errors do", async () => {
    for (const [way, client] of await ways()) {
      const nobody = await client.raw.get(`${way} nowhere`).fetch("/x");
      expect([nobody.status, ((await nobody.json()) as { code: string }).code], way).toEqual([404, "not_found"]);
      const handle = client.raw.getOrCreate(way);
      const refused = await handle.fetch("/refuse");
      expect(await refused.json()).toMatchObject({ group: "user", code: "refused" });
      // Its client is there, and reads why.
      await vi.waitFor(async () => expect(await handle.requests()).toMatchObject({ ended: 1, listeners: 1 }), 10_000);
      expect(await handle.requests()).toMatchObject({ aborted: 0 });
    }
  });
});
