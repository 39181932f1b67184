// Actors that the engine starts with requests to a server of the program's own.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { test } from "node:test";
import { actor, setup } from "greenroom";
import { clientOf, engine, eventually, persist } from "./pool.mjs";

const counter = actor({
  state: { count: 0 },
  actions: {
    add: async (c, by) => {
      c.state.count += by;
      await c.saveState({ immediate: true });
      return c.state.count;
    },
    sleep: (c) => c.sleep(),
  },
});

/** The registry behind a server of Node. */
async function served(t, registry) {
  const paths = [];
  const server = createServer(async (request, response) => {
    paths.push(request.url);
    const leaving = new AbortController();
    response.on("close", () => leaving.abort());
    const hasBody = !["GET", "HEAD"].includes(request.method);
    const asked = new Request(`http://${request.headers.host}${request.url}`, {
      method: request.method,
      headers: request.headers,
      signal: leaving.signal,
      ...(hasBody && { body: Readable.toWeb(request), duplex: "half" }),
    });
    const answer = await registry.handler(asked);
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.flushHeaders();
    try {
      for await (const chunk of answer.body ?? []) response.write(chunk);
    } catch {
      // The engine has heard enough.
    }
    response.end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${server.address().port}/api/rivet`, paths };
}

test("an engine starts actors with requests, and again after they have slept", async (t) => {
  const { endpoint } = await engine(t);
  process.env.GREENROOM_HOST = "engine";
  const registry = setup({ use: { counter }, endpoint, envoy: { poolName: "pool" }, logging: { level: "silent" } });
  delete process.env.GREENROOM_HOST;
  t.after(() => registry.shutdown());
  const { url, paths } = await served(t, registry);

  const health = await fetch(`${url}/health`);
  assert.deepEqual([health.status, (await health.json()).status], [200, "ok"]);
  const { envoy } = await (await fetch(`${url}/metadata`)).json();
  assert.deepEqual(envoy, { kind: { serverless: {} }, version: 1 });
  const elsewhere = { "x-rivet-endpoint": "http://x", "x-rivet-pool-name": "p", "x-rivet-namespace-name": "default" };
  const refused = await fetch(`${url}/start`, { method: "POST", headers: elsewhere });
  assert.deepEqual([refused.status, (await refused.json()).code], [400, "endpoint_mismatch"]);

  const pool = { url, request_lifespan: 3600, max_runners: 10, slots_per_runner: 1, min_runners: 0, runners_margin: 0 };
  const made = await fetch(`${endpoint}/runner-configs/pool?namespace=default`, {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ datacenters: { default: { serverless: pool } } }),
  });
  assert.equal(made.status, 200, await made.text());

  const handle = clientOf(t, endpoint, { poolName: "pool" }).counter.getOrCreate("asked for");
  assert.equal(await persist("an answer", () => handle.add(2)), 2);
  const starts = () => paths.filter((path) => path === "/api/rivet/start").length;
  const first = starts();
  await handle.sleep();
  await eventually("it starts again", () => persist("an answer", () => handle.add(0)).then(() => starts() > first));
  assert.equal(await handle.add(3), 5);
  await assert.rejects(registry.startAndWait(), { code: "mode_conflict" });
});
