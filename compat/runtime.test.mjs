// The whole published package on our addon.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { createClient } from "rivetkit/client";
import { nextError, nextEvent } from "./lib/connection.mjs";
import { runtimeProgram } from "./lib/runtime.mjs";
import { afterKill, ENCODINGS, rejection } from "./lib/suite.mjs";

describe("a counter of the published package", () => {
  let program;
  before(async () => {
    program = await runtimeProgram("counter-program.mjs");
  });
  after(async () => assert.equal(await program.stop(), 0, "the program leaves with exit code 0"));

  for (const encoding of ENCODINGS) {
    describe(encoding ?? "default encoding", () => {
      let client;
      let keys = 0;
      const fresh = () => client.counter.getOrCreate([`${encoding}-${keys++}`]);
      before(() => {
        client = createClient({ endpoint: program.url, ...(encoding ? { encoding } : {}) });
      });
      after(() => client.dispose());

      test("counts, and keeps its count over sleep", async () => {
        const handle = fresh();
        assert.equal(await handle.increment(2), 2);
        assert.equal(await handle.increment(), 3);
        const wakes = await handle.woken();
        await handle.sleep();
        // A call that comes before the actor is asleep may still be answered.
        while ((await handle.woken()) === wakes) await setImmediate();
        assert.equal(await handle.woken(), wakes + 1);
        assert.equal(await handle.count(), 3);
      });

      test("takes its input once", async () => {
        const key = [`${encoding}-input`];
        const handle = client.counter.getOrCreate(key, { createWithInput: { from: 40 } });
        assert.equal(await handle.increment(2), 42);
        const again = client.counter.getOrCreate(key, { createWithInput: { from: 0 } });
        assert.equal(await again.count(), 42);
      });

      test("tells every connection what it broadcasts, before the reply", async () => {
        const handle = fresh();
        const [one, two] = [handle.connect(), handle.connect()];
        await Promise.all([one.count(), two.count()]);
        const heard = nextEvent(two, "count");
        const order = [];
        one.on("count", (count) => order.push(`event ${count}`));
        await one.count();
        order.push(`reply ${await one.increment(5)}`);
        assert.deepEqual(order, ["event 5", "reply 5"]);
        assert.deepEqual(await heard, [5]);
        await Promise.all([one.dispose(), two.dispose()]);
      });

      test("gives a connection its state, which survives sleep", async () => {
        const handle = client.counter.getOrCreate([`${encoding}-${keys++}`], { params: { name: "ada" } });
        const connection = handle.connect();
        assert.deepEqual(await connection.whoami(), { name: "ada", calls: 1 });
        await handle.sleep();
        assert.deepEqual(await connection.whoami(), { name: "ada", calls: 2 });
        await connection.dispose();
      });

      test("refuses a connection with the error of its hook", async () => {
        const handle = client.counter.getOrCreate([`${encoding}-${keys++}`], { params: { name: "mallory" } });
        const connection = handle.connect();
        const error = await nextError(connection);
        assert.equal(`${error.group}.${error.code}`, "user.refused");
        await connection.dispose();
        await rejection(handle.count(), "user", "refused");
      });

      test("passes errors on, and keeps secrets", async () => {
        const handle = fresh();
        const refused = await rejection(handle.refuse(), "user", "closed");
        assert.deepEqual(refused.metadata, { opensAt: 9 });
        const boom = await handle.boom().then(assert.fail, (error) => error);
        assert.doesNotMatch(JSON.stringify([boom, boom.message]), /secret/);
      });

      test("calls another actor", async () => {
        const key = `${encoding}-other`;
        assert.equal(await fresh().other(key, 3), 3);
        assert.equal(await client.counter.getOrCreate([key]).count(), 3);
      });

      test("is gone once destroyed, and begins anew", async () => {
        const handle = fresh();
        await handle.increment(9);
        await handle.destroy();
        assert.equal(await handle.count(), 0);
      });
    });
  }
});

test("what a program of the published package saved survives SIGKILL", async () => {
  const program = await runtimeProgram("counter-program.mjs");
  try {
    const client = createClient({ endpoint: program.url });
    const handle = client.counter.getOrCreate(["kill"]);
    await handle.increment(7);
    await handle.save();
    await program.kill();
    await program.start();
    assert.equal(await afterKill(() => handle.count()), 7);
    await client.dispose();
  } finally {
    assert.equal(await program.stop(), 0);
  }
});

test("an inspector needs the token that dashboards read, and then sees the actor", async () => {
  const program = await runtimeProgram("counter-program.mjs");
  try {
    const client = createClient({ endpoint: program.url });
    const handle = client.counter.getOrCreate(["seen"]);
    await handle.increment(4);
    const id = await handle.resolve();
    const key = await fetch(`${program.url}/actors/${id}/kv/keys/Aw%3D%3D?namespace=default`);
    const token = Buffer.from((await key.json()).value, "base64").toString();
    const inspect = async (path, init = {}) => {
      const headers = { authorization: `Bearer ${token}`, ...init.headers };
      const response = await fetch(`${program.url}/gateway/${id}/inspector${path}`, { ...init, headers });
      return [response.status, await response.json()];
    };
    const [status, refusal] = await inspect("/state", { headers: { authorization: "Bearer x" } });
    assert.deepEqual([status, refusal.group, refusal.code], [401, "inspector", "unauthorized"]);
    const [, { state, isStateEnabled }] = await inspect("/state");
    assert.deepEqual([state.count, isStateEnabled], [4, true]);
    const patch = { method: "PATCH", body: JSON.stringify({ state: { count: 10, woken: 0 } }) };
    assert.deepEqual(await inspect("/state", patch), [200, { ok: true }]);
    assert.equal(await handle.count(), 10);
    const act = { method: "POST", body: JSON.stringify({ args: [5] }) };
    assert.deepEqual(await inspect("/action/increment", act), [200, { output: 15 }]);
    const [, { rpcs }] = await inspect("/rpcs");
    assert.ok(rpcs.includes("increment") && rpcs.includes("sleep"));
    const [, summary] = await inspect("/summary");
    assert.equal(summary.state.count, 15);
    assert.equal((await inspect("/nowhere"))[0], 404);
    await client.dispose();
  } finally {
    assert.equal(await program.stop(), 0);
  }
});
