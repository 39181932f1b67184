/** Serverless mode, as the published package calls it. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { failure, freePort, native, registryToServe, type ServeConfig, serveConfig } from "./addon.js";

async function stage(options: Partial<ServeConfig> = {}) {
  const registry = registryToServe();
  const config = serveConfig(await freePort(), { serverlessMaxStartPayloadBytes: 8, ...options });
  const ask = (
    path: string,
    { method = "GET", headers = {}, body = "", token = new native.CancellationToken() } = {},
  ) => collect(registry, config, { method, url: `http://x${path}`, headers, body: Buffer.from(body) }, token);
  return { registry, config, ask };
}

type Registry = InstanceType<typeof native.CoreRegistry>;
type Request = Parameters<Registry["handleServerlessRequest"]>[0];
type Token = InstanceType<typeof native.CancellationToken>;

/** The whole answer; listens slowly, and checks that events wait for it. */
async function collect(registry: Registry, config: ServeConfig, request: Request, token: Token) {
  const chunks: Buffer[] = [];
  let listening = false;
  let end: (error: unknown) => void = () => {};
  const ended = new Promise((resolve) => {
    end = resolve;
  });
  const onEvent = async (error: unknown, event: { kind: string; chunk?: Buffer; error?: unknown }) => {
    expect([error, listening]).toEqual([null, false]);
    listening = true;
    await new Promise(setImmediate);
    listening = false;
    if (event.kind === "chunk") chunks.push(event.chunk as Buffer);
    else end(event.error);
  };
  const head = await registry.handleServerlessRequest(request, onEvent, token, config);
  expect(await ended).toBeUndefined();
  return { ...head, text: Buffer.concat(chunks).toString() };
}

describe("a registry behind serverless requests", () => {
  test("opens its host once, for all who ask at the same time", async () => {
    const { registry, ask, config } = await stage();
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask("/api/rivet/health")));
    for (const { status, text } of answers) {
      expect([status, JSON.parse(text)]).toEqual([200, { runtime: "rivetkit", status: "ok", version: "9.8.7" }]);
    }
    expect(JSON.parse(Buffer.from(registry.metadata().body).toString())).toMatchObject({
      envoy: { kind: { serverless: {} } },
    });
    expect((await fetch(`${config.endpoint}/health`)).status).toBe(200);
    await registry.shutdown();
  });

  test("runs in no other mode, nor one that does in this", async () => {
    const { registry, ask, config } = await stage();
    await ask("/api/rivet/health");
    const conflict = "mode conflict: another run mode is already active";
    expect((await failure(registry.waitReady())).metadata.reason).toBe(conflict);
    const serving = await failure(registry.serve(config));
    expect(serving.metadata.reason).toBe("already serving or shut down");
    await registry.shutdown();

    const standing = await stage();
    const served = standing.registry.serve(standing.config);
    expect((await failure(standing.ask("/api/rivet/health"))).metadata.reason).toBe(conflict);
    await standing.registry.shutdown();
    await served;
  });

  test("is over after a shutdown, and after a start that failed", async () => {
    const { registry, ask } = await stage();
    await ask("/api/rivet");
    await registry.shutdown();
    const over = await failure(ask("/api/rivet"));
    expect([over.group, over.code]).toEqual(["registry", "shut_down"]);

    const broken = await stage({ endpoint: "nowhere" });
    const first = failure(broken.ask("/api/rivet"));
    const second = failure(broken.ask("/api/rivet"));
    expect((await first).code).toBe("invalid_endpoint");
    expect((await second).code).toBe("shut_down");
  });

  test("takes another base path", async () => {
    const { registry, ask } = await stage({ serverlessBasePath: "/rk" });
    expect((await ask("/rk/health")).status).toBe(200);
    expect((await ask("/api/rivet/health")).status).toBe(404);
    await registry.shutdown();
  });

  test("bounds what a start may bring", async () => {
    const { registry, ask } = await stage();
    const { status, text } = await ask("/api/rivet/start", { method: "POST", body: "123456789" });
    expect([status, JSON.parse(text)]).toEqual([
      413,
      {
        group: "message",
        code: "incoming_too_long",
        message: "Incoming message too long. Exceeded limit of 8 bytes.",
        metadata: { limit: 8 },
      },
    ]);
    await registry.shutdown();
  });

  test("shows its metrics to whoever has their token", async () => {
    const { registry, ask } = await stage();
    expect((await ask("/api/rivet/metrics")).status).toBe(403);
    process.env.RIVETKIT_METRICS_ENABLED = "1";
    process.env.RIVETKIT_METRICS_TOKEN = "secret";
    try {
      for (const authorization of [undefined, "Bearer wrong!", "secret"]) {
        const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
        expect((await ask("/api/rivet/metrics", { headers })).status).toBe(401);
      }
      const shown = await ask("/api/rivet/metrics", { headers: { authorization: "Bearer secret" } });
      expect([shown.status, shown.headers["content-type"]]).toEqual([200, "text/plain; version=0.0.4"]);
      expect(shown.text).toContain("# TYPE greenroom_actors_awake gauge");
    } finally {
      delete process.env.RIVETKIT_METRICS_ENABLED;
      delete process.env.RIVETKIT_METRICS_TOKEN;
    }
    await registry.shutdown();
  });

  test("sends nothing to whoever has cancelled", async () => {
    const { registry, config } = await stage();
    const token = new native.CancellationToken();
    token.cancel();
    const request = { method: "GET", url: "http://x/api/rivet", headers: {}, body: Buffer.alloc(0) };
    const events: unknown[] = [];
    const head = await registry.handleServerlessRequest(
      request,
      (_: unknown, e: unknown) => events.push(e),
      token,
      config,
    );
    expect(head.status).toBe(200);
    await registry.shutdown();
    expect(events).toEqual([]);
  });

  test.each([
    ["no URL", { url: "http://" }],
    ["a method that is none", { method: "a b" }],
    ["a header that is none", { headers: { "a b": "c" } }],
  ])("refuses %s", async (_, broken) => {
    const { registry, config } = await stage();
    const request = { method: "GET", url: "http://x/", headers: {}, body: Buffer.alloc(0), ...broken };
    expect(() => registry.handleServerlessRequest(request, () => {}, new native.CancellationToken(), config)).toThrow(
      /invalid_http_request/,
    );
    expect(JSON.parse(Buffer.from((await registry.health()).body).toString()).status).toBe("not_started");
  });
});

describe("a listener", () => {
  test("refuses a port that is none, and one that is taken", async () => {
    const { registry, config } = await stage();
    expect(() => registry.serveListener({ port: 65_536 }, config)).toThrow(/port out of range/);
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const taken = await failure(registry.serveListener({ host: "127.0.0.1", port }, config));
    expect([taken.group, taken.code]).toEqual(["host", "port_unavailable"]);
    server.close();
    await registry.shutdown();
  });

  test("bounds the bodies of requests", async () => {
    const { registry, config } = await stage();
    const port = await freePort();
    const listening = registry.serveListener({ host: "127.0.0.1", port }, config);
    const post = (body: string) => fetch(`http://127.0.0.1:${port}/`, { method: "POST", body });
    await expect.poll(async () => (await post("").catch(() => undefined))?.status, { timeout: 10_000 }).toBe(404);
    const refused = await post("123456789");
    expect([refused.status, await refused.text()]).toEqual([413, "Payload Too Large"]);
    await registry.shutdown();
    expect(await listening).toBeUndefined();
  });
});
