import assert from "node:assert/strict";
import { test } from "node:test";
import { unlessOnEngine } from "./lib/host.mjs";
import { inEachEncoding, rejection } from "./lib/suite.mjs";

const duplicates = unlessOnEngine("an engine says of some duplicates that they were destroyed during creation");

inEachEncoding("addressing", ({ client, key }) => {
  test("get of a missing key fails with actor.not_found and creates nothing", async () => {
    const missing = key();
    await rejection(client().counter.get(missing).resolve(), "actor", "not_found");
    await rejection(client().counter.get(missing).get(), "actor", "not_found");
    await rejection(client().counter.get(missing).resolve(), "actor", "not_found");
  });

  test("get finds what getOrCreate made", async () => {
    const same = key();
    await client().counter.getOrCreate(same).increment(2);
    assert.equal(await client().counter.get(same).increment(1), 3);
  });

  test("resolve gives the id under which getForId finds the actor", async () => {
    const handle = client().counter.getOrCreate(key());
    const id = await handle.resolve();
    assert.equal(await handle.id(), id);
    assert.equal(await client().counter.getForId(id).increment(3), 3);
    assert.equal(await handle.get(), 3);
  });

  test("create gives a handle to the new actor with its input", async () => {
    const handle = await client().born.create(key(), { input: { name: "Ada", year: 1815 } });
    assert.deepEqual(await handle.input(), { name: "Ada", year: 1815 });
  });

  test("create twice with the same key fails and names the first actor", duplicates, async () => {
    const same = key();
    const first = await client().born.create(same, { input: 1 });
    const error = await rejection(client().born.create(same, { input: 2 }), "actor", "duplicate_key");
    assert.equal(error.metadata.existing_actor_id, await first.id());
    assert.equal(await first.input(), 1);
  });

  test("getOrCreate hands its input to the actor it creates, and only then", async () => {
    const same = key();
    const first = client().born.getOrCreate(same, { createWithInput: ["a", 1] });
    assert.deepEqual(await first.input(), ["a", 1]);
    const second = client().born.getOrCreate(same, { createWithInput: ["b", 2] });
    assert.deepEqual(await second.input(), ["a", 1]);
  });

  test("concurrent first calls make one actor with the input of one of them", async () => {
    const same = key();
    const calls = Array.from({ length: 20 }, (_, at) => {
      const handle = client().born.getOrCreate(same, { createWithInput: at });
      return Promise.all([handle.id(), handle.input()]);
    });
    const answers = await Promise.all(calls);
    assert.equal(new Set(answers.map(([id]) => id)).size, 1);
    const [[, input]] = answers;
    assert.ok(Number.isInteger(input) && input >= 0 && input < 20);
    assert.ok(answers.every(([, other]) => other === input));
  });

  test("keys of several parts, with slashes and without any part, are told apart", async () => {
    const [name] = key();
    const keys = [[name, "a", "b"], [name, "a/b"], [name, "a", ""], [name]];
    for (const [at, parts] of keys.entries()) {
      const handle = client().counter.getOrCreate(parts);
      assert.equal(await handle.increment(at + 1), at + 1);
      assert.deepEqual(await handle.key(), parts);
    }
  });

  test("calls part a key at its commas, and resolve does not: the published client speaks of two actors", async () => {
    const [name] = key();
    const parts = [name, "a/b", "", "x,y"];
    const handle = client().counter.getOrCreate(parts);
    assert.deepEqual(await handle.key(), [name, "a/b", "", "x", "y"]);
    const called = await handle.id();
    const resolved = await handle.resolve();
    assert.notEqual(resolved, called);
    const whole = client().counter.getForId(resolved);
    assert.deepEqual(await whole.key(), parts);
    const answer = await whole.fetch("/");
    assert.equal(answer.headers.get("x-rivet-actor-key"), `${name}/a\\/b/\\0/x,y`);
  });

  test("the same key under two names is two actors", async () => {
    const same = key();
    const counter = await client().counter.getOrCreate(same).resolve();
    const echo = await client().echo.getOrCreate(same).resolve();
    assert.notEqual(counter, echo);
  });

  test("an unknown id is actor.not_found", async () => {
    const id = await client().counter.getOrCreate(key()).resolve();
    // Another id of the same form: the digits of the random part come first.
    const unknown = `${id.slice(0, 8)}${id[8] === "a" ? "b" : "a"}${id.slice(9)}`;
    await rejection(client().counter.getForId(unknown).get(), "actor", "not_found");
  });
});
