import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { inEachEncoding, patient, rejection } from "./lib/suite.mjs";

inEachEncoding("queues", ({ client, key }) => {
  test("a message that is waited for brings its answer back", async () => {
    const handle = patient(client().mailbox.getOrCreate(key()));
    const sent = await handle.send("jobs", { n: 1, big: 7n }, { wait: true, timeout: 10_000 });
    assert.equal(sent.status, "completed");
    assert.deepEqual(sent.response, { echo: { n: 1, big: 7n } });
  });

  test("a message that nobody completes times out, and stays", async () => {
    const handle = patient(client().mailbox.getOrCreate(key()));
    const sent = await handle.send("letters", "a", { wait: true, timeout: 50 });
    assert.equal(sent.status, "timedOut");
    assert.deepEqual(await handle.letters(), [["letters", "a"]]);
  });

  test("messages keep their order, and are there when the send resolves", async () => {
    const handle = patient(client().mailbox.getOrCreate(key()));
    for (const body of ["a", "b", "c"]) await handle.send("letters", body);
    assert.deepEqual(
      (await handle.letters()).map(([, body]) => body),
      ["a", "b", "c"],
    );
  });

  test("a message wakes an actor that fell asleep waiting for it", async () => {
    const handle = patient(client().mailbox.getOrCreate(key()));
    await handle.send("jobs", 1, { wait: true, timeout: 10_000 });
    await delay(600);
    const sent = await handle.send("jobs", 2, { wait: true, timeout: 10_000 });
    assert.deepEqual(sent.response, { echo: 2 });
  });

  test("a full queue and a message that is too large are refused, and what was taken stays", async () => {
    const handle = client().pigeonhole.getOrCreate(key());
    const large = await rejection(handle.send("letters", "x".repeat(2_000)), "queue", "message_too_large");
    assert.equal(large.metadata.limit, 1_024);
    assert.ok(large.metadata.size > 2_000);
    await handle.send("letters", 1);
    await handle.send("letters", 2);
    const full = await rejection(handle.send("letters", 3), "queue", "full");
    assert.deepEqual(full.metadata, { limit: 2 });
  });

  test("a queue that is not declared drops what it gets, and one that is guarded refuses", async () => {
    const name = key();
    const handle = patient(client().mailbox.getOrCreate(name));
    await handle.send("unknown", 1);
    await assert.rejects(handle.send("secret", 1), { group: "auth", code: "forbidden" });
    assert.deepEqual(await handle.letters(), []);
    await patient(client().mailbox.getOrCreate(name, { params: { token: "t" } })).send("secret", 2);
    assert.deepEqual(await handle.letters(), [["secret", 2]]);
  });
});
