import { describe, expect, test } from "vitest";
import { greenroom, served } from "./fixtures/greenroom";
import { RawSocket } from "./fixtures/raw-socket";

const { actor } = greenroom;

const room = actor({
  state: { opened: 0 },
  onWebSocket: (c, socket) => {
    c.state.opened++;
    socket.addEventListener("message", ({ data }) => socket.send(data as string));
  },
  actions: {
    ping: () => "pong",
    flood: (c, count: number, bytes: number) => {
      for (let at = 0; at < count; at++) c.broadcast("flood", at, "x".repeat(bytes));
    },
  },
});

const QUERY = "rvt-namespace=default&rvt-method=getOrCreate&rvt-runner=default&rvt-crash-policy=sleep";
const path = (route: string, key = "a") => `/gateway/room/${route}?${QUERY}&rvt-key=${key}`;
const JSON_PROTOCOLS = "rivet, rivet_encoding.json";
const ACTION = '{"body":{"tag":"ActionRequest","val":{"id":0,"name":"ping","args":[]}}}';

async function host(options: { [option: string]: unknown } = {}) {
  const server = await served({ room }, options);
  return { ...server, ping: () => server.clientIn().room.getOrCreate("a").ping() };
}

describe("a client that breaks the rules of WebSockets is closed, and nobody else notices", () => {
  test.each([
    ["a frame that is not masked", { masked: false }, 1002],
    ["a frame with an extension's bit", { flags: 0xc0 }, 1002],
    ["a reserved opcode", { opcode: 3 }, 1002],
    ["a continuation of nothing", { opcode: 0 }, 1002],
    ["a control frame in pieces", { opcode: 9, flags: 0 }, 1002],
  ])("%s", async (_, options, code) => {
    const { url, ping } = await host();
    for (const route of ["connect", "websocket/"]) {
      const socket = await RawSocket.open(url, path(route), JSON_PROTOCOLS);
      socket.send(ACTION, options);
      expect((await socket.closed())[0], route).toBe(code);
      socket.destroy();
    }
    expect(await ping()).toBe("pong");
  });

  test("text that is no UTF-8", async () => {
    const { url, ping } = await host();
    const socket = await RawSocket.open(url, path("websocket/"), "rivet");
    socket.send(Buffer.from([0xc3, 0x28]));
    expect(await socket.closed()).toEqual([1007, "message.invalid_utf8"]);
    socket.destroy();
    expect(await ping()).toBe("pong");
  });

  test("a header that claims more than there may be, without waiting for it", async () => {
    const { url, ping } = await host();
    const socket = await RawSocket.open(url, path("websocket/"), "rivet");
    socket.send("x", { claims: 1n << 40n });
    const [code] = await socket.closed();
    expect([1009, 1011]).toContain(code);
    socket.destroy();
    expect(await ping()).toBe("pong");
  });
});

describe("the connection protocol", () => {
  test("is never compressed, whatever is offered", async () => {
    const { url } = await host();
    const socket = await RawSocket.open(url, path("connect"), JSON_PROTOCOLS, "permessage-deflate");
    expect(socket.head).toMatch(/^http\/1.1 101/);
    expect(socket.head).toContain("sec-websocket-protocol: rivet\r\n");
    expect(socket.head).not.toContain("sec-websocket-extensions");
    socket.destroy();
  });

  test("closes on what it cannot read, in every encoding", async () => {
    const { url, ping } = await host();
    const junk = {
      json: ["", "{", "[]", '{"body":{"tag":"Surprise","val":{}}}', '{"body":{"tag":"ActionRequest","val":{"id":-1}}}'],
      cbor: ["", "\x9f", "\xa1", "\xff\xff\xff\xff"],
      bare: ["", "\x04", "\x09\x00\x00", "\x04\x00\x07", "\x04\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"],
    };
    for (const [encoding, messages] of Object.entries(junk)) {
      for (const message of messages) {
        const socket = await RawSocket.open(url, path("connect"), `rivet, rivet_encoding.${encoding}`);
        await socket.next();
        socket.send(Buffer.from(message, "latin1"), { opcode: encoding === "json" ? 1 : 2 });
        const told = `${encoding} ${JSON.stringify(message)}`;
        expect(await socket.closed(), told).toEqual([1011, "actor.invalid_request"]);
        socket.destroy();
      }
    }
    expect(await ping()).toBe("pong");
  });

  test("answers an upgrade with 101 and says in its close what is wrong", async () => {
    const { url } = await host();
    const cases: [string, string, number, RegExp][] = [
      [path("connect"), "rivet, rivet_encoding.morse", 1003, /^actor\.unsupported_websocket_encoding/],
      [path("connect"), "rivet, rivet_conn_params.%7Bbroken", 1011, /^actor\.invalid_request/],
      [
        "/gateway/room/connect?rvt-namespace=default&rvt-method=get&rvt-key=x",
        JSON_PROTOCOLS,
        1011,
        /^actor\.not_found#/,
      ],
      [`/gateway/${"a".repeat(30)}/connect`, JSON_PROTOCOLS, 1011, /^actor\.not_found#/],
      [path("connect").replace("=default&", "=nowhere&"), JSON_PROTOCOLS, 1011, /^namespace\.not_found#/],
      ["/gateway/room/connect?rvt-nonsense=1", JSON_PROTOCOLS, 1011, /^guard\./],
      ["/nowhere", JSON_PROTOCOLS, 1011, /^guard\./],
    ];
    for (const [target, protocols, code, reason] of cases) {
      const socket = await RawSocket.open(url, target, protocols);
      expect(socket.head, target).toMatch(/^http\/1.1 101/);
      const closed = await socket.closed();
      expect(closed, target).toEqual([code, expect.stringMatching(reason)]);
      socket.destroy();
    }
  });
});

describe("bounds", () => {
  test("sockets of one actor", async () => {
    const { url, ping } = await host({ maxSocketsPerActor: 2 });
    const sockets = [];
    for (let at = 0; at < 2; at++) {
      const socket = await RawSocket.open(url, path("connect"), JSON_PROTOCOLS);
      await socket.next();
      sockets.push(socket);
    }
    const third = await RawSocket.open(url, path("connect"), JSON_PROTOCOLS);
    const [, reason] = await third.closed();
    expect(reason).toMatch(/^actor\.overloaded/);
    const elsewhere = await RawSocket.open(url, path("connect", "b"), JSON_PROTOCOLS);
    expect((await elsewhere.next())?.payload.toString()).toContain("Init");
    expect(await ping()).toBe("pong");
    for (const socket of [...sockets, third, elsewhere]) socket.destroy();
  });

  test("sockets of one address, and of the process", async () => {
    for (const [options, reason] of [
      [{ maxSocketsPerAddress: 1 }, /^guard\.rate_limit#/],
      [{ maxSockets: 1 }, /^guard\.service_unavailable#/],
    ] as const) {
      const { url, ping } = await host(options);
      const first = await RawSocket.open(url, path("connect"), JSON_PROTOCOLS);
      await first.next();
      const second = await RawSocket.open(url, path("connect"), JSON_PROTOCOLS);
      expect((await second.closed())[1]).toMatch(reason);
      expect(await ping()).toBe("pong");
      first.destroy();
      second.destroy();
    }
  });

  test("what waits for a client that does not read: it goes, the others hear everything", async () => {
    const { url, clientIn, ping } = await host({ maxSocketBuffer: 256 * 1024 });
    const subscribe = '{"body":{"tag":"SubscriptionRequest","val":{"eventName":"flood","subscribe":true}}}';
    const slow = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const socket = await RawSocket.open(url, path("connect"), JSON_PROTOCOLS);
        await socket.next();
        socket.send(subscribe);
        socket.send(ACTION);
        await socket.next();
        socket.pause();
        return socket;
      }),
    );
    const quick = clientIn().room.getOrCreate("a").connect();
    const heard: number[] = [];
    quick.on("flood", (at: number) => void heard.push(at));
    for (let round = 0; round < 40; round++) await quick.flood(10, 20_000);
    expect(heard).toEqual(Array.from({ length: 40 }, () => [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]).flat());
    for (const socket of slow) {
      socket.resume();
      expect(await socket.closed()).toEqual([1013, "connection.slow_consumer"]);
      socket.destroy();
    }
    expect(await ping()).toBe("pong");
    await quick.dispose();
  });
});
