import { describe, expect, test, vi } from "vitest";
import { event, greenroom, served } from "./fixtures/greenroom";

const { actor } = greenroom;

const raw = actor({
  state: { opened: 0 },
  onRequest: (c, request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/same") return new Response(request.body, { headers: { "x-kept": "yes" } });
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
  actions: { opened: (c) => c.state.opened },
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

  test("outlasts the sleep of its actor where the actor wants that", async () => {
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
  test("keep method, path and body", async () => {
    for (const [way, client] of (await ways()).slice(1)) {
      const handle = client.raw.getOrCreate(way, { params: { who: "me" } });
      const response = await handle.fetch("/a/b?c=1", { method: "DELETE" });
      expect(await response.json(), way).toEqual({ pathname: "/a/b", method: "DELETE", params: { who: "me" } });
      const same = await handle.fetch("/same", { method: "POST", body: new Uint8Array(300_000).fill(7) });
      expect(same.headers.get("x-kept")).toBe("yes");
      expect(new Uint8Array(await same.arrayBuffer())).toEqual(new Uint8Array(300_000).fill(7));
    }
  });
});
