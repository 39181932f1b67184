// Queues and schedules of the published package on our addon.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { createClient } from "rivetkit/client";
import { until } from "./lib/connection.mjs";
import { onEngine } from "./lib/host.mjs";
import { runtimeProgram } from "./lib/runtime.mjs";
import { patient, rejection } from "./lib/suite.mjs";

/** Later than the calls that come before it, which take their time on an engine. */
const SOON = onEngine ? 6_000 : 900;

describe("an actor of the published package", () => {
  let program;
  let client;
  let keys = 0;
  const fresh = () => patient(client.worker.getOrCreate([`${keys++}`]));
  before(async () => {
    program = await runtimeProgram("timers-program.mjs");
    client = createClient({ endpoint: program.url });
  });
  after(async () => {
    await client.dispose();
    assert.equal(await program.stop(), 0, "the program leaves with exit code 0");
  });

  test("works its queue off and answers", async () => {
    const handle = fresh();
    const sent = await handle.send("jobs", { n: 1 }, { wait: true, timeout: 10_000 });
    assert.deepEqual(sent, { status: "completed", response: { echo: { n: 1 } } });
    assert.deepEqual(await handle.self(2), { echo: 2 });
    assert.deepEqual(await handle.done(), [{ n: 1 }, 2]);
  });

  test("falls asleep on its queue, and wakes for a message", async () => {
    const handle = fresh();
    await handle.send("jobs", 1);
    await delay(800);
    await handle.send("jobs", 2);
    assert.deepEqual(
      await until(
        "both jobs are done",
        () => handle.done(),
        (done) => done.length >= 2,
      ),
      [1, 2],
    );
  });

  test("keeps messages in order, and times out on none", async () => {
    const handle = fresh();
    assert.deepEqual(await handle.write("a", "b"), [1, 2]);
    assert.deepEqual(await handle.read(), ["a", "b"]);
    await rejection(handle.timeOut(), "queue", "timed_out");
  });

  test("is called at a later time, asleep or not", async () => {
    const handle = fresh();
    await handle.remind(50, "soon");
    await until(
      "the first reminder rings",
      () => handle.rang(),
      (rang) => rang.length > 0,
    );
    const late = await handle.remind(3_600_000, "late");
    await handle.remind(SOON, "asleep");
    assert.deepEqual(await handle.list(), [
      ["ring", ["asleep"]],
      ["ring", ["late"]],
    ]);
    assert.equal(await handle.cancel(late), true);
    assert.equal(await handle.cancel(late), false);
    await delay(SOON + 600);
    const rang = await until(
      "the second reminder rings",
      () => handle.rang(),
      ({ length }) => length >= 2,
    );
    assert.deepEqual(rang, [
      ["soon", "at"],
      ["asleep", "at"],
    ]);
  });

  test("has cron jobs, and keys", async () => {
    const handle = fresh();
    const [jobs, gone, history] = await handle.cron();
    assert.deepEqual(jobs, [
      ["a", "cron"],
      ["b", "every"],
    ]);
    assert.equal(gone ?? null, null);
    assert.deepEqual(history, []);
    assert.deepEqual(await handle.keys(), [null, "2", [["two", "2"]]]);
  });
});

test("what an actor of the published package was to do after SIGKILL, it does by itself", async () => {
  const program = await runtimeProgram("timers-program.mjs");
  try {
    const client = createClient({ endpoint: program.url });
    const handle = patient(client.worker.getOrCreate(["kill"]));
    await handle.remind(1_000, "after");
    await program.kill();
    await delay(1_000);
    await program.start();
    await delay(1_000);
    const rang = await until(
      "the reminder rings",
      () => handle.rang(),
      ({ length }) => length > 0,
    );
    assert.deepEqual(rang, [["after", "at"]]);
    await client.dispose();
  } finally {
    assert.equal(await program.stop(), 0);
  }
});
