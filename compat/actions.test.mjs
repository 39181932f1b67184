import assert from "node:assert/strict";
import { test } from "node:test";
import { inEachEncoding, rejection } from "./lib/suite.mjs";

inEachEncoding("actions", ({ client, key }) => {
  test("getOrCreate creates an actor that keeps its state between calls", async () => {
    const handle = client().counter.getOrCreate(key());
    assert.equal(await handle.increment(1), 1);
    assert.equal(await handle.increment(2), 3);
    assert.equal(await handle.get(), 3);
  });

  test("a key may be a plain string", async () => {
    const [name] = key();
    await client().counter.getOrCreate(name).increment(4);
    assert.equal(await client().counter.get([name]).get(), 4);
  });

  test("default arguments of the actor apply when none is sent", async () => {
    assert.equal(await client().counter.getOrCreate(key()).increment(), 1);
  });

  test("handle.action calls by name", async () => {
    const handle = client().counter.getOrCreate(key());
    assert.equal(await handle.action({ name: "increment", args: [7] }), 7);
  });

  test("a nested action is called by its dotted name", async () => {
    const handle = client().counter.getOrCreate(key());
    assert.equal(await handle.action({ name: "nested.twice", args: [21] }), 42);
  });

  test("fifty increments in flight are all counted", async () => {
    const handle = client().counter.getOrCreate(key());
    const answers = await Promise.all(Array.from({ length: 50 }, () => handle.increment(1)));
    assert.equal(await handle.get(), 50);
    assert.equal(Math.max(...answers), 50);
  });

  test("an actor that was put to sleep wakes with its state", async () => {
    const handle = client().counter.getOrCreate(key());
    await handle.increment(5);
    await handle.nap();
    assert.equal(await handle.increment(1), 6);
  });

  test("a destroyed actor's key can be created anew", async () => {
    const handle = client().counter.getOrCreate(key());
    await handle.increment(5);
    const id = await handle.id();
    await handle.leave();
    assert.equal(await handle.increment(1), 1);
    assert.notEqual(await handle.id(), id);
    await rejection(client().counter.getForId(id).get(), "actor", "not_found");
  });
});
