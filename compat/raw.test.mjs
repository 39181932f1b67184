import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually, until } from "./lib/connection.mjs";
import { unlessOnEngine } from "./lib/host.mjs";
import { inEachEncoding, patient } from "./lib/suite.mjs";

const duplex = unlessOnEngine("an engine ends a request's body when its response begins");

/** The messages of a raw socket, in order, and how it ended. */
function inbox(t, socket) {
  t.after(() => socket.close());
  socket.binaryType = "arraybuffer";
  const waiting = [];
  const takers = [];
  socket.addEventListener("message", ({ data }) => {
    const taker = takers.shift();
    if (taker) taker(data);
    else waiting.push(data);
  });
  return {
    next: () =>
      waiting.length > 0 ? Promise.resolve(waiting.shift()) : eventually("a message", (done) => takers.push(done)),
    closed: eventually("the close", (done) => socket.addEventListener("close", done)).catch((error) => error),
  };
}

/** Resolves once the socket may be written to. */
const opened = (socket) =>
  socket.readyState === 1 ? undefined : eventually("open", (done) => socket.addEventListener("open", () => done()));

inEachEncoding("raw traffic", ({ client, key, url }) => {
  test("onRequest sees method, path, query, headers and body", async () => {
    const handle = client().raw.getOrCreate(key());
    const response = await handle.fetch("/a/b%2Fc?x=1&x=2", {
      method: "PUT",
      headers: { "x-probe": "yes" },
      body: "hello",
    });
    assert.equal(response.status, 200);
    const { method, path, header, body } = await response.json();
    assert.deepEqual(
      { method, path, header, body },
      { method: "PUT", path: "/a/b%2Fc?x=1&x=2", header: "yes", body: "hello" },
    );
  });

  test("a Request keeps the URL it was made with", async () => {
    const handle = client().raw.getOrCreate(key());
    const response = await handle.fetch(
      new Request("https://example.com/some/path?q=1", { method: "POST", body: "x" }),
    );
    const { url: seen, method } = await response.json();
    assert.deepEqual([seen, method], ["https://example.com/some/path?q=1", "POST"]);
  });

  test("statuses, empty bodies and headers come back as they were sent", async () => {
    const handle = client().raw.getOrCreate(key());
    const teapot = await handle.fetch("/teapot");
    assert.deepEqual([teapot.status, await teapot.text()], [418, "short and stout"]);
    const empty = await handle.fetch("/empty");
    assert.deepEqual([empty.status, await empty.text()], [204, ""]);
    const same = await handle.fetch("/same", { method: "POST", body: new Uint8Array([0, 255, 10]) });
    assert.equal(same.headers.get("x-kept"), "yes");
    assert.deepEqual([...new Uint8Array(await same.arrayBuffer())], [0, 255, 10]);
    assert.ok(same.headers.get("x-rivet-actor"));
  });

  test("a UserError of onRequest is a JSON body", async () => {
    const response = await client()
      .raw.getOrCreate(key())
      .fetch("/refuse", { headers: { accept: "*/*" } });
    assert.equal(response.status, 500);
    const { group, code, message, metadata } = await response.json();
    assert.deepEqual(
      { group, code, message, metadata },
      { group: "user", code: "refused", message: "Not here", metadata: { where: "here" } },
    );
  });

  test("an actor without onRequest answers 404 with nothing", async () => {
    const response = await client().closed.getOrCreate(key()).fetch("/x");
    assert.deepEqual([response.status, await response.text()], [404, ""]);
  });

  test("bodies larger than a message pass, whole or in pieces", async () => {
    const handle = client().raw.getOrCreate(key());
    const whole = await handle.fetch("/upload", { method: "POST", body: new Uint8Array(200_000) });
    assert.deepEqual(await whole.json(), { bytes: 200_000 });
    const pieces = new ReadableStream({
      start(controller) {
        for (let at = 0; at < 20; at++) controller.enqueue(new Uint8Array(50_000));
        controller.close();
      },
    });
    const streamed = await handle.fetch("/upload", { method: "POST", body: pieces, duplex: "half" });
    assert.deepEqual(await streamed.json(), { bytes: 1_000_000 });
  });

  test("a response streams while its request does", duplex, async () => {
    // A plain fetch: the published client's own keeps no stream of both directions.
    const gateway = await client().raw.getOrCreate(key()).getGatewayUrl();
    const target = new URL(gateway);
    target.pathname += "/request/same";
    let controller;
    const body = new ReadableStream({ start: (given) => (controller = given) });
    const encoder = new TextEncoder();
    controller.enqueue(encoder.encode("one"));
    const response = await fetch(target, { method: "POST", body, duplex: "half" });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    assert.equal((await reader.read()).value, "one");
    controller.enqueue(encoder.encode("two"));
    assert.equal((await reader.read()).value, "two");
    controller.close();
    assert.equal((await reader.read()).done, true);
  });

  test("server-sent events arrive one by one, and the handler learns that the client left", async () => {
    const handle = client().raw.getOrCreate(key());
    const response = await handle.fetch("/ticks");
    assert.equal(response.headers.get("content-type"), "text/event-stream");
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("data: 2\n\n")) text += (await reader.read()).value;
    assert.ok(text.startsWith("data: 0\n\ndata: 1\n\n"));
    // The abort of a signal would not always end it: the published client passes on that
    // of a `Request` which it lets go of, and the garbage collector ends the chain.
    await reader.cancel();
    const stats = async () => (await handle.fetch("/stats")).json();
    await until("the stream was cancelled", stats, ({ cancelled }) => cancelled === 1);
    await until("the request was aborted", stats, ({ aborted }) => aborted === 1);
  });

  test("a raw socket carries text and bytes both ways, in order", async (t) => {
    const socket = await client().raw.getOrCreate(key()).webSocket("my/path?z=1");
    const { next } = inbox(t, socket);
    assert.deepEqual(JSON.parse(await next()), {
      path: "/websocket/my/path",
      url: "http://127.0.0.1/websocket/my/path?z=1",
      params: null,
    });
    for (let at = 0; at < 100; at++) socket.send(String(at));
    for (let at = 0; at < 100; at++) assert.equal(await next(), String(at));
    socket.send(new Uint8Array([1, 0, 255]));
    const bytes = await next();
    assert.ok(bytes instanceof ArrayBuffer);
    assert.deepEqual([...new Uint8Array(bytes)], [1, 0, 255]);
    const large = "é".repeat(100_000);
    socket.send(large);
    assert.equal(await next(), large);
  });

  test("the handler's close arrives as it was given", async (t) => {
    const socket = await client().raw.getOrCreate(key()).webSocket();
    const { next, closed } = inbox(t, socket);
    await next();
    socket.send("close");
    const { code, reason } = await closed;
    assert.deepEqual([code, reason], [4001, "custom.reason"]);
  });

  test("the client's close is echoed and given to the handler", async (t) => {
    const handle = client().raw.getOrCreate(key());
    const socket = await handle.webSocket();
    const { next, closed } = inbox(t, socket);
    await next();
    socket.close(4002, "enough");
    const { code, reason } = await closed;
    assert.deepEqual([code, reason], [4002, "enough"]);
    const closes = await until(
      "the handler heard",
      () => handle.closes(),
      ({ length }) => length > 0,
    );
    assert.deepEqual(closes, [{ code: 4002, reason: "enough", wasClean: false }]);
  });

  test("a raw socket that cannot outlast a sleep is closed by it", async (t) => {
    const socket = await client().raw.getOrCreate(key()).webSocket();
    const { next, closed } = inbox(t, socket);
    await next();
    socket.send("nap");
    const { code, reason } = await closed;
    assert.deepEqual([code, reason], [1000, "actor.stopped"]);
  });

  test("a raw socket that may hibernate outlasts a sleep and is opened again for its handler", async (t) => {
    const handle = patient(client().rawSleeper.getOrCreate(key()));
    const socket = await handle.webSocket();
    const { next } = inbox(t, socket);
    await opened(socket);
    socket.send("a");
    assert.equal(await next(), "a 1 1");
    socket.send("nap");
    const woken = () => handle.counts();
    await until("it woke once more", woken, ({ woken }) => woken === 2);
    socket.send("b");
    assert.equal(await next(), "b 2 2");
    assert.equal(socket.readyState, 1);
  });

  test("messages sent around a sleep arrive once and in order", async (t) => {
    const handle = patient(client().rawSleeper.getOrCreate(key()));
    const socket = await handle.webSocket();
    const { next } = inbox(t, socket);
    await opened(socket);
    for (let at = 0; at < 200; at++) {
      socket.send(String(at));
      if (at % 50 === 25) socket.send("nap");
      if (at % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    }
    const answers = [];
    for (let at = 0; at < 200; at++) answers.push(Number((await next()).split(" ")[0]));
    assert.deepEqual(
      answers,
      Array.from({ length: 200 }, (_, at) => at),
    );
  });

  test("without onWebSocket a socket opens and stays silent", async (t) => {
    const socket = await client().closed.getOrCreate(key()).webSocket();
    inbox(t, socket);
    await opened(socket);
    socket.send("anybody?");
    assert.equal(socket.readyState, 1);
  });

  test("a preflight is answered without an actor", async () => {
    const answer = await fetch(`${url()}/gateway/raw/request/x?rvt-namespace=default&rvt-method=get&rvt-key=none`, {
      method: "OPTIONS",
      headers: { origin: "http://o.p", "access-control-request-headers": "x-probe" },
    });
    assert.equal(answer.status, 204);
    const header = (name) => answer.headers.get(`access-control-${name}`);
    assert.deepEqual(
      [header("allow-origin"), header("allow-credentials"), header("allow-headers"), header("max-age")],
      ["http://o.p", "true", "x-probe", "86400"],
    );
  });

  test("a page of another origin may read what an actor answers", async () => {
    const [name] = key();
    const query = `rvt-namespace=default&rvt-method=getOrCreate&rvt-runner=default&rvt-crash-policy=sleep&rvt-key=${name}`;
    const answer = await fetch(`${url()}/gateway/raw/request/stats?${query}`, { headers: { origin: "http://o.p" } });
    assert.equal(answer.status, 200);
    const header = (kind) => answer.headers.get(`access-control-${kind}`);
    assert.deepEqual([header("allow-origin"), header("allow-credentials")], ["http://o.p", "true"]);
    await answer.arrayBuffer();
  });
});
