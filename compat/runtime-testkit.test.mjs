// `rivetkit/test` on our addon: a registry for one test, in the process of the test.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { freePort } from "./lib/runtime.mjs";

const data = await mkdtemp(join(tmpdir(), "greenroom-testkit-"));
// Read once, when the package is loaded.
Object.assign(process.env, {
  RIVETKIT_RUNTIME: "native",
  RIVETKIT_STORAGE_PATH: data,
  RIVET_RUN_ENGINE: "1",
  RIVET_RUN_ENGINE_PORT: String(await freePort()),
  RIVET_LOG_LEVEL: "error",
});
const { actor, setup } = await import("rivetkit");
const { setupTest } = await import("rivetkit/test");

const counter = actor({
  state: { count: 0 },
  actions: {
    increment: (c, by) => {
      c.state.count += by;
      c.broadcast("changed", c.state.count);
      return c.state.count;
    },
  },
});
const registry = setup({ use: { counter } });

after(async () => {
  await registry.shutdown();
  await rm(data, { recursive: true, force: true });
});

test("setupTest of the published package gives a client to actors in the process of the test", async (t) => {
  const { client } = await setupTest({ onTestFinished: (finish) => t.after(finish) }, registry);
  const handle = client.counter.getOrCreate(["kit"]);
  assert.equal(await handle.increment(2), 2);
  const connection = handle.connect();
  const heard = new Promise((resolve) => connection.once("changed", resolve));
  assert.equal(await connection.increment(3), 5);
  assert.equal(await heard, 5);
});
