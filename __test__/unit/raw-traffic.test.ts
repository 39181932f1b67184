import { describe, expect, test } from "vitest";
import { decode, FakeConn, FakeToken, rig, turn } from "../fixtures/fake-native";

class FakeBody {
  chunks: string[] = [];
  ended = false;
  failed: string | undefined;
  #gone = () => {};
  readonly #cancelled = new Promise<void>((resolve) => (this.#gone = resolve));
  leave = () => this.#gone();
  cancelled = () => this.#cancelled;
  write = async (chunk: Uint8Array) => void this.chunks.push(Buffer.from(chunk).toString());
  end = async () => void (this.ended = true);
  error = async (message: string) => void (this.failed = message);
}

const requestBody = (...chunks: string[]) => {
  const state = { cancelled: 0 };
  return {
    state,
    stream: {
      read: async () => (chunks.length > 0 ? Buffer.from(chunks.shift() as string) : null),
      cancel: async () => void state.cancelled++,
    },
  };
};

const serve = (config: object) => {
  const fixture = rig(config);
  const conn = new FakeConn("http-1");
  fixture.ctx.services.conn = conn;
  const out = new FakeBody();
  const cancelToken = new FakeToken();
  const request = (native: object) =>
    fixture.call("onRequest", {
      request: { method: "GET", uri: "/", headers: {}, ...native },
      responseBodyStream: out,
      cancelToken,
    });
  return { fixture, conn, out, cancelToken, request };
};

describe("raw HTTP", () => {
  test("is 404 without a handler", async () => {
    expect(await serve({}).request({})).toEqual({ status: 404, headers: {}, body: new Uint8Array() });
  });

  test("gives the handler a Web request and streams its response", async () => {
    const { conn, out, request } = serve({
      onRequest: async (c: any, req: Request) =>
        new Response(
          `${req.method} ${new URL(req.url).pathname} ${req.headers.get("x-a")} ${await req.text()} ${c.conn.id} ${c.request === req}`,
          {
            status: 201,
            headers: { "x-b": "2" },
          },
        ),
    });
    const body = requestBody("he", "llo");
    const head = await request({
      method: "POST",
      uri: "/p?x=1",
      headers: { "x-a": "1", "bad header": "x" },
      bodyStream: body.stream,
    });
    expect(head).toMatchObject({ status: 201, stream: true, headers: { "x-b": "2" } });
    await turn();
    expect(out.chunks.join("")).toBe("POST /p 1 hello http-1 true");
    expect([out.ended, body.state.cancelled > 0]).toEqual([true, true]);
    await turn();
    expect(conn.disconnected).toHaveLength(1);
  });

  test("sends a response without a body at once", async () => {
    const { request } = serve({ onRequest: () => new Response(null, { status: 204 }) });
    expect(await request({})).toEqual({ status: 204, headers: {}, body: new Uint8Array() });
  });

  test("splits large chunks and stops reading when the client leaves", async () => {
    let cancelled = false;
    const { out, request } = serve({
      onRequest: () =>
        new Response(
          new ReadableStream({
            start: (controller) => controller.enqueue(new Uint8Array(150_000)),
            cancel: () => void (cancelled = true),
          }),
        ),
    });
    await request({});
    await turn();
    expect(out.chunks.map((chunk) => chunk.length)).toEqual([65536, 65536, 18928]);
    out.leave();
    await turn();
    expect(cancelled).toBe(true);
  });

  test("reports a response stream that breaks", async () => {
    const { out, request } = serve({
      onRequest: () => new Response(new ReadableStream({ pull: (controller) => controller.error(new Error("broke")) })),
    });
    await request({});
    await turn();
    expect(out.failed).toBe("broke");
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("boom");
      },
      "boom",
    ],
    ["returns no response", () => ({ status: 200 }), "onRequest must return a Response, not object"],
  ])("rejects and disconnects when the handler %s", async (_, onRequest, message) => {
    const { conn, request } = serve({ onRequest });
    await expect(request({})).rejects.toThrow(message);
    await turn();
    expect(conn.disconnected).toHaveLength(1);
  });

  test("takes conn params from their header", async () => {
    const seen: unknown[] = [];
    const { fixture, request } = serve({ onRequest: () => new Response() });
    fixture.ctx.connectConn = (async (params: Uint8Array) => (seen.push(decode(params)), new FakeConn())) as never;
    await request({ headers: { "x-rivet-conn-params": '{"tok":1}' } });
    await request({});
    await expect(request({ headers: { "x-rivet-conn-params": "{" } })).rejects.toMatchObject({
      code: "invalid_request",
    });
    expect(seen).toEqual([{ tok: 1 }, undefined]);
  });

  test("aborts the request's signal when the client goes while it waits, and not later", async () => {
    for (const waits of [true, false]) {
      let signal: AbortSignal | undefined;
      const { cancelToken, request } = serve({
        onRequest: (_: unknown, req: Request) => {
          signal = req.signal;
          if (waits) cancelToken.cancel();
          return new Response();
        },
      });
      await request({});
      cancelToken.cancel();
      expect(signal?.aborted).toBe(waits);
    }
  });
});

describe("a raw WebSocket", () => {
  const open = async (handler: (socket: any) => unknown) => {
    const sent: unknown[] = [];
    const closed: unknown[] = [];
    let receive: (event: object) => void = () => {};
    const fixture = rig({ onWebSocket: (_: unknown, socket: any) => handler(socket) });
    const ws = {
      send: (data: Uint8Array, binary: boolean) => void sent.push([Buffer.from(data).toString(), binary]),
      close: (...args: unknown[]) => void closed.push(args),
      setEventCallback: (callback: (event: object) => void) => void (receive = callback),
    };
    const text = (data: string) => receive({ kind: "message", data, binary: false });
    const opening = fixture.call("onWebSocket", {
      conn: new FakeConn(),
      ws,
      request: { method: "GET", uri: "/websocket/x" },
    });
    return {
      sent,
      closed,
      text,
      opening,
      receive: (event: object) => receive(event),
      lines: fixture.lines,
      log: fixture.ctx.log,
    };
  };

  test("counts an asynchronous listener as work until it is done, whether it fails or not", async () => {
    let finish: (error?: Error) => void = () => {};
    const socket = await open((ws) => {
      ws.onmessage = () => new Promise<void>((resolve, reject) => (finish = (e) => (e ? reject(e) : resolve())));
    });
    await socket.opening;
    for (const failure of [undefined, new Error("listener")]) {
      socket.log.length = 0;
      socket.text("a");
      await turn();
      expect(socket.log).toEqual(["beginWebsocketCallback"]);
      finish(failure);
      await turn();
      expect(socket.log).toEqual(["beginWebsocketCallback", "endWebsocketCallback 7"]);
    }
    expect(socket.lines.join()).toContain("listener");
  });

  test("talks both ways, in text and binary", async () => {
    const got: unknown[] = [];
    const socket = await open((ws) => {
      ws.addEventListener("message", (event: any) => got.push(event.data));
      ws.onclose = (event: any) => got.push([event.code, event.wasClean]);
      ws.send("hi");
      ws.send(new Uint8Array([104, 111]));
    });
    await socket.opening;
    socket.text("a");
    socket.receive({ kind: "message", data: Buffer.from([1]), binary: true, messageIndex: 3 });
    socket.receive({ kind: "close", code: 1000, reason: "", wasClean: true });
    expect(socket.sent).toEqual([
      ["hi", false],
      ["ho", true],
    ]);
    expect(got).toEqual(["a", new Uint8Array([1]).buffer, [1000, true]]);
  });

  test("keeps messages until somebody listens", async () => {
    const got: unknown[] = [];
    let listen = () => {};
    const socket = await open((ws) => {
      listen = () => (ws.onmessage = (event: any) => got.push(event.data));
    });
    socket.text("early");
    listen();
    socket.text("late");
    expect(got).toEqual(["early", "late"]);
  });

  test("is closed when nobody ever listens", async () => {
    const socket = await open(() => undefined);
    for (let i = 0; i < 300; i++) socket.text("x");
    expect(socket.closed).toEqual([[1011, "nobody listens for messages"]]);
  });

  test("survives listeners that throw or reject", async () => {
    const got: unknown[] = [];
    const socket = await open((ws) => {
      ws.addEventListener("message", () => {
        throw new Error("one");
      });
      ws.addEventListener("message", async () => {
        throw new Error("two");
      });
      ws.addEventListener("message", (event: any) => got.push(event.data));
    });
    socket.text("a");
    await turn();
    expect(got).toEqual(["a"]);
    expect(socket.lines.join()).toMatch(/one[\s\S]*two/);
  });
});
