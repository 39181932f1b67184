/** `serve`, as the published package calls it. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { failure, freePort, registryToServe, type ServeConfig, serveConfig } from "./addon.js";

/** A server on a port of its own, and that port. */
async function occupied(answer: unknown) {
  const server = createServer((_, response) => response.end(JSON.stringify(answer))).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, port: (server.address() as AddressInfo).port };
}

const config = (port: number, options: Partial<ServeConfig> = {}) => serveConfig(port, { version: 3, ...options });

const json = (response: { status: number; body: Uint8Array }) => [
  response.status,
  JSON.parse(Buffer.from(response.body).toString()),
];

describe("a registry that serves a loopback endpoint", () => {
  test("hosts its actors there until it is shut down", async () => {
    const port = await freePort();
    const serving = registryToServe();
    const ready = serving.waitReady();
    const served = serving.serve(config(port, { serverlessClientEndpoint: "http://elsewhere" }));
    await ready;
    const envoys = await fetch(`http://127.0.0.1:${port}/envoys?namespace=default&name=default`);
    expect(((await envoys.json()) as { envoys: unknown[] }).envoys).toHaveLength(1);
    const query = "rvt-namespace=default&rvt-method=getOrCreate&rvt-runner=default&rvt-key=a";
    const answer = await fetch(`http://127.0.0.1:${port}/gateway/thing/action/hello?${query}`, {
      method: "POST",
      headers: { "x-rivet-encoding": "json" },
      body: JSON.stringify({ args: [] }),
    });
    expect(await answer.json()).toEqual({ output: "hello" });
    expect(json(await serving.health())).toEqual([200, { runtime: "rivetkit", status: "ok", version: "9.8.7" }]);
    expect(json(serving.metadata())).toEqual([
      200,
      {
        runtime: "rivetkit",
        version: "9.8.7",
        envoyProtocolVersion: 8,
        actorNames: { thing: { metadata: { name: "Thing" } } },
        envoy: { kind: { normal: {} }, version: 3 },
        clientEndpoint: "http://elsewhere",
      },
    ]);
    await serving.shutdown();
    expect(await served).toBeUndefined();
    await expect(fetch(`http://127.0.0.1:${port}/health`)).rejects.toThrow();
  });

  test("lets its namespace be made, once", async () => {
    const serving = registryToServe();
    const port = await freePort();
    const served = serving.serve(config(port, { namespace: "shop" }));
    await serving.waitReady();
    const make = (name: string) =>
      fetch(`http://127.0.0.1:${port}/namespaces`, {
        method: "POST",
        body: JSON.stringify({ name, display_name: "x" }),
      });
    const made = await make("shop");
    expect([made.status, ((await made.json()) as any).namespace.name]).toEqual([200, "shop"]);
    for (const [name, code] of [
      ["shop", "name_not_unique"],
      ["default", "name_not_unique"],
      ["elsewhere", "bad_request"],
    ] as const) {
      const refused = await make(name);
      expect([refused.status, ((await refused.json()) as any).code]).toEqual([400, code]);
    }
    await serving.shutdown();
    await served;
  });

  test("does so once", async () => {
    const serving = registryToServe();
    const port = await freePort();
    const served = serving.serve(config(port));
    const again = await failure(serving.serve(config(port)));
    expect([again.code, again.metadata.reason]).toEqual(["invalid_state", "already serving or shut down"]);
    await serving.waitReady();
    await serving.shutdown();
    await served;
  });

  test.each([
    [
      "a host like this one",
      { runtime: "engine", version: "2", envoy_protocol_version: 8, implementation: { name: "greenroom" } },
      "greenroom",
    ],
    ["another program", { runtime: "shop" }, "shop"],
    ["a program that says nothing of itself", [], "unknown"],
  ])("leaves a port to %s that answers there", async (_, answer, runtime) => {
    const { server, port } = await occupied(answer);
    const serving = registryToServe();
    const ready = failure(serving.waitReady());
    const error = await failure(serving.serve(config(port)));
    expect([error.group, error.code]).toEqual(["engine", "port_occupied"]);
    expect(error.metadata).toEqual({ endpoint: `http://127.0.0.1:${port}`, runtime });
    expect((await ready).metadata.reason).toBe("shut down");
    server.close();
  });

  test("says that its port is taken when only the endpoint is free", async () => {
    const { server, port } = await occupied({});
    const error = await failure(registryToServe().serve(config(await freePort(), { enginePort: port })));
    expect([error.group, error.code]).toEqual(["host", "port_unavailable"]);
    server.close();
  });

  test.each([
    ["no URL", { endpoint: "here" }, "engine", "invalid_endpoint"],
    ["a port that is none", { enginePort: 70_000 }, "napi", "invalid_argument"],
    ["another machine that is none", { endpoint: "http://greenroom.invalid:6420" }, "engine", "unreachable"],
  ])("refuses %s", async (_, options, group, code) => {
    const error = await failure(registryToServe().serve(config(1, options)));
    expect([error.group, error.code]).toEqual([group, code]);
  });
});
