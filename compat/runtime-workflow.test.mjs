// Workflows of the published package on our addon: their steps are rows that are
// committed with the state, their waits alarms and messages.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { createClient } from "rivetkit/client";
import { asleep, until } from "./lib/connection.mjs";
import { runtimeProgram } from "./lib/runtime.mjs";

async function withProgram(use) {
  const program = await runtimeProgram("workflow-program.mjs");
  const client = createClient({ endpoint: program.url });
  try {
    await use(program, client);
  } finally {
    await client.dispose();
    assert.equal(await program.stop(), 0);
  }
}

/** The trail, once it is as long as it should be. */
const trail = (handle, length) =>
  until(
    `${length} steps`,
    () => handle.trail(),
    (steps) => steps.length >= length,
  );

test("a workflow goes on after its sleep, and after the message it waits for", async () => {
  await withProgram(async (_program, client) => {
    const handle = client.order.getOrCreate(["a"]);
    assert.deepEqual(await trail(handle, 1), ["opened"]);
    assert.deepEqual(await trail(handle, 2), ["opened", "asked for 7"]);
    await delay(500);
    await handle.send("paid", "cash");
    assert.deepEqual(await trail(handle, 3), ["opened", "asked for 7", "closed with cash"]);
  });
});

test("a workflow goes on after SIGKILL without a step done twice, woken by its alarm", async () => {
  await withProgram(async (program, client) => {
    const handle = client.order.getOrCreate(["b"]);
    assert.deepEqual(await trail(handle, 1), ["opened"]);
    // A step shows in the state before it is committed: only an actor that sleeps
    // has surely saved it, with the alarm that is to wake it.
    await asleep(program.url, await handle.resolve());
    await program.kill();
    await program.start();
    // Nobody calls: the alarm of its sleep wakes it.
    await delay(3_000);
    assert.deepEqual(await handle.trail(), ["opened", "asked for 7"]);
    await handle.send("paid", "cash");
    assert.deepEqual(await trail(handle, 3), ["opened", "asked for 7", "closed with cash"]);
  });
});
