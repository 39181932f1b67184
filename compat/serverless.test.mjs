// The published package behind somebody else's server, on our addon.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createClient } from "rivetkit/client";
import { onEngine } from "./lib/host.mjs";
import { freePort, runtimeProgram } from "./lib/runtime.mjs";

const json = async (response) => [response.status, await response.json()];

/** Tells the engine, if there is one, where to ask for actors. */
async function announce({ url: endpoint }, url) {
  if (!onEngine) return;
  const serverless = { url, request_lifespan: 3600, max_runners: 10, slots_per_runner: 1, min_runners: 0 };
  const answer = await fetch(`${endpoint}/runner-configs/default?namespace=default`, {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ datacenters: { default: { serverless: { ...serverless, runners_margin: 0 } } } }),
  });
  assert.equal(answer.status, 200, await answer.text());
}

describe("the handler of the published package", () => {
  let program;
  let base;

  before(async () => {
    program = await runtimeProgram("handler-program.mjs");
    base = `http://127.0.0.1:${program.message.port}/api/rivet`;
    await announce(program, base);
  });
  after(async () => assert.equal(await program.stop(), 0));

  test("leads clients to the actors", async () => {
    const client = createClient(base);
    const handle = client.counter.getOrCreate(["a"]);
    assert.equal(await handle.add(2), 2);
    const connection = handle.connect();
    assert.equal(await connection.add(3), 5);
    await connection.dispose();
    await client.dispose();
  });

  test("says who it is", async () => {
    for (const path of ["", "/"]) {
      const banner = await fetch(base + path);
      assert.equal(banner.status, 200);
      assert.match(await banner.text(), /Learn more at https:\/\/rivet\.dev$/);
    }
    const health = { runtime: "rivetkit", status: "ok", version: "2.3.19" };
    assert.deepEqual(await json(await fetch(`${base}/health`)), [200, health]);
    const [status, metadata] = await json(await fetch(`${base}/metadata`));
    assert.equal(status, 200);
    assert.deepEqual(metadata.envoy, { kind: { serverless: {} }, version: 1 });
    assert.equal(metadata.clientEndpoint, program.url);
    assert.deepEqual(Object.keys(metadata.actorNames), ["counter"]);
  });

  test("keeps its metrics to itself and knows nothing else", async () => {
    const metrics = await fetch(`${base}/metrics`);
    assert.deepEqual([metrics.status, await metrics.text()], [403, "metrics not enabled"]);
    for (const path of ["/nothing", "x"]) {
      const nothing = await fetch(base + path);
      assert.deepEqual([nothing.status, await nothing.text()], [404, "Not Found (RivetKit)"]);
    }
  });

  test("tells browsers who may call", async () => {
    const { headers } = await fetch(`${base}/health`, { headers: { origin: "https://shop.example" } });
    assert.equal(headers.get("access-control-allow-origin"), "https://shop.example");
    assert.equal(headers.get("access-control-allow-credentials"), "true");
    assert.equal(headers.get("vary"), "Origin");
  });

  test("checks what a start says of its engine", async () => {
    const start = (headers, body = "x") => fetch(`${base}/start`, { method: "POST", headers, body });
    const said = {};
    for (const name of ["x-rivet-pool-name", "x-rivet-endpoint", "x-rivet-namespace-name"]) {
      const [status, error] = await json(await start(said));
      assert.deepEqual([status, error.group, error.code], [400, "request", "invalid"]);
      assert.equal(error.message, `Invalid request: ${name} header is required`);
      said[name] = "x";
    }
    said["x-rivet-pool-name"] = "default";
    for (const [name, value, group, code] of [
      ["x-rivet-endpoint", "http://elsewhere.example", "config", "endpoint_mismatch"],
      ["x-rivet-endpoint", program.url, "config", "namespace_mismatch"],
      // Where an engine is, the body is looked at next.
      ["x-rivet-namespace-name", "default", ...(onEngine ? ["request", "invalid"] : ["actor", "not_configured"])],
    ]) {
      said[name] = value;
      const [status, error] = await json(await start(said));
      assert.deepEqual([status, error.group, error.code], [400, group, code]);
    }
    const [tooLong, refusal] = await json(await start(said, "x".repeat(16_777_217)));
    assert.deepEqual([tooLong, refusal.group, refusal.code], [413, "message", "incoming_too_long"]);
  });
});

for (const mode of ["serverless", "envoy"]) {
  describe(`listen() of the published package, ${mode} mode`, () => {
    let program;
    let base;

    before(async () => {
      const port = await freePort();
      base = `http://127.0.0.1:${port}`;
      program = await runtimeProgram("listen-program.mjs", { RIVETKIT_RUNTIME_MODE: mode, LISTEN_PORT: String(port) });
      if (mode === "serverless") await announce(program, `${base}/api/rivet`);
    });
    after(async () => assert.equal(await program.stop(), 0));

    test("serves files before the application", async () => {
      const page = await fetch(`${base}/page.html`);
      assert.equal(page.headers.get("content-type"), "text/html; charset=utf-8");
      assert.equal(await page.text(), "<h1>page</h1>");
      assert.equal(await (await fetch(`${base}/no-page.html`)).text(), "application");
      assert.equal(await (await fetch(`${base}/..%2f..%2fetc%2fpasswd`)).text(), "application");
    });

    test("hands the application whole requests", async () => {
      const answer = await fetch(`${base}/echo?a=1`, {
        method: "POST",
        body: "hello",
        headers: { "x-forwarded-proto": "https", "x-forwarded-host": "shop.example" },
      });
      assert.deepEqual([answer.status, await answer.text()], [201, "hello"]);
      assert.equal(answer.headers.get("x-seen"), "POST https://shop.example?a=1");
    });

    test("streams what the application streams, and tells it when the client leaves", async () => {
      const leaving = new AbortController();
      const answer = await fetch(`${base}/forever`, { signal: leaving.signal });
      const { value } = await answer.body.getReader().read();
      assert.equal(new TextDecoder().decode(value), "first");
      leaving.abort();
      assert.equal(await (await fetch(`${base}/left`)).text(), "the client left");
    });

    test("answers for an application that throws", async () => {
      const answer = await fetch(`${base}/throws`);
      assert.deepEqual([answer.status, await answer.text()], [500, "Internal Server Error"]);
    });

    test("has its own routes in serverless mode alone", async () => {
      const text = await (await fetch(`${base}/api/rivet/health`)).text();
      if (mode === "serverless") assert.equal(JSON.parse(text).status, "ok");
      else assert.equal(text, "application");
    });

    test("runs actors", async () => {
      const client = createClient(program.url);
      assert.equal(await client.counter.getOrCreate([mode]).add(1), 1);
      await client.dispose();
    });
  });
}
