// What a registry says of an engine that it cannot join.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";
import { actor, setup } from "greenroom";
import { engine, temporaryFolder } from "./pool.mjs";

/** A registry that joins, although the endpoint is on this machine. */
function joining(t, options) {
  process.env.GREENROOM_HOST = "engine";
  process.env.RIVET_ENGINE_BINARY = "/no/such/engine";
  const registry = setup({ use: { one: actor({ state: {} }) }, logging: { level: "silent" }, ...options });
  delete process.env.GREENROOM_HOST;
  t.after(() => registry.shutdown());
  return registry;
}

async function answering(t, answer) {
  const server = createServer((_, response) => response.end(JSON.stringify(answer))).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return `http://127.0.0.1:${server.address().port}`;
}

test("a namespace that it does not know, and a token that is wrong", async (t) => {
  const { endpoint } = await engine(t, { RIVET__AUTH__ADMIN_TOKEN: "right" });
  for (const options of [{ token: "right", namespace: "nowhere" }, { token: "wrong" }, {}]) {
    await assert.rejects(joining(t, { endpoint, ...options }).startAndWait(), { group: "engine", code: "refused" });
  }
  const registry = joining(t, { endpoint, token: "right" });
  await registry.startAndWait();
  await registry.shutdown();
});

test("one that is too old, none at all, and a host of ours", async (t) => {
  const old = { runtime: "engine", version: "2.1.0", envoy_protocol_version: 6 };
  await assert.rejects(joining(t, { endpoint: await answering(t, old) }).startAndWait(), { code: "incompatible" });
  const shop = await answering(t, { runtime: "shop" });
  await assert.rejects(joining(t, { endpoint: shop }).startAndWait(), { group: "engine", code: "port_occupied" });
  const embedded = setup({ use: { one: actor({ state: {} }) }, dataDir: temporaryFolder(t) });
  t.after(() => embedded.shutdown());
  const { url } = await embedded.listen({ port: 0 });
  await assert.rejects(joining(t, { endpoint: url }).startAndWait(), { group: "engine", code: "port_occupied" });
});
