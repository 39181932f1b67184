/** `registry.handler()`: the host behind a server that speaks fetch. */
import { expect, test, vi } from "vitest";
import { event, greenroom, registryOf } from "./fixtures/greenroom";

const { actor } = greenroom;

const counter = actor({
  state: { count: 0 },
  vars: { left: 0 },
  actions: {
    add: (c, n: number) => {
      c.state.count += n;
      return c.state.count;
    },
    left: (c) => c.vars.left,
  },
  onRequest: (c, request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/forever") {
      const body = new ReadableStream({
        start: (controller) => controller.enqueue(new Uint8Array([7])),
        cancel: () => void c.vars.left++,
      });
      return new Response(body);
    }
    return new Response(request.body, { status: 201 });
  },
});

const query = "rvt-namespace=default&rvt-method=getOrCreate&rvt-runner=default&rvt-key=a";
const at = (path: string) => `http://shop.example${path}`;
const add = (base: string, n: number) =>
  new Request(at(`${base}/gateway/counter/action/add?${query}`), {
    method: "POST",
    headers: { "x-rivet-encoding": "json" },
    body: JSON.stringify({ args: [n] }),
  });

test("a handler answers for actors and for the endpoint, below its base path and without", async () => {
  const registry = registryOf({ counter });
  const { fetch } = registry.serve();
  for (const base of ["/api/rivet", ""]) {
    const metadata = await fetch(new Request(at(`${base}/metadata`)));
    expect(await metadata.json()).toMatchObject({ runtime: "engine" });
  }
  expect(await (await fetch(add("/api/rivet", 2))).json()).toEqual({ output: 2 });
  expect(await (await fetch(add("", 3))).json()).toEqual({ output: 5 });
  expect(await registry.client().counter.get("a").add(1)).toBe(6);
  const nowhere = await fetch(new Request(at("/api/rivetx")));
  expect([nowhere.status, ((await nowhere.json()) as { code: string }).code]).toEqual([404, "not_found"]);
  // What the host does with a path alone.
  const banner = await fetch(new Request(at("/api/rivet")));
  expect([banner.status, banner.headers.get("location")]).toEqual([307, "/metadata"]);
});

test("a handler has the base path that was asked for", async () => {
  const registry = registryOf({ counter }, { serverless: { basePath: "/actors-here/" } });
  expect(await (await registry.handler(add("/actors-here", 1))).json()).toEqual({ output: 1 });
});

test("a handler answers preflights of browsers", async () => {
  const registry = registryOf({ counter });
  const headers = { origin: "https://shop.example", "access-control-request-method": "POST" };
  const url = at(`/api/rivet/gateway/counter/action/add?${query}`);
  const preflight = await registry.handler(new Request(url, { method: "OPTIONS", headers }));
  expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([
    204,
    "https://shop.example",
  ]);
});

test("a handler streams both ways", async () => {
  const registry = registryOf({ counter });
  const sent = event();
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new Uint8Array([1])),
    async pull(controller) {
      await sent.promise;
      controller.enqueue(new Uint8Array([2]));
      controller.close();
    },
  });
  const url = at(`/api/rivet/gateway/counter/request/same?${query}`);
  const init: RequestInit = { method: "PUT", body };
  const answer = await registry.handler(new Request(url, { ...init, duplex: "half" } as RequestInit));
  expect(answer.status).toBe(201);
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  expect([...((await reader.read()).value ?? [])]).toEqual([1]);
  // The second half is sent only when the first has come back.
  sent.happen();
  expect([...((await reader.read()).value ?? [])]).toEqual([2]);
  expect((await reader.read()).done).toBe(true);
});

test("a handler's request that is aborted is given up, and its actor hears of it", async () => {
  const registry = registryOf({ counter });
  const leaving = new AbortController();
  const url = at(`/api/rivet/gateway/counter/request/forever?${query}`);
  const answer = await registry.handler(new Request(url, { signal: leaving.signal }));
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  leaving.abort(new Error("gone"));
  await expect(reader.read()).rejects.toThrow("gone");
  const handle = registry.client().counter.get("a");
  await vi.waitFor(async () => expect(await handle.left()).toBe(1), 10_000);
});

test("a handler of a registry that was shut down says so", async () => {
  const registry = registryOf({ counter });
  await registry.handler(add("", 1));
  await registry.shutdown();
  await expect(registry.handler(add("", 1))).rejects.toMatchObject({ group: "registry", code: "shut_down" });
});
