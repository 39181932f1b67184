import assert from "node:assert/strict";
import { test } from "node:test";
import { unlessOnEngine } from "./lib/host.mjs";
import { inEachEncoding, rejection } from "./lib/suite.mjs";

const MASKED = "An internal error occurred";

const anyName = unlessOnEngine("an engine makes an actor of any name, which then does not start");

inEachEncoding("errors", ({ client, key }) => {
  test("a UserError arrives with code, message and metadata", async () => {
    const error = await rejection(client().trouble.getOrCreate(key()).refuse(), "user", "closed");
    assert.equal(error.message, "The shop is closed");
    assert.deepEqual(error.metadata, { opensAt: 9, days: ["mon", "tue"], note: null });
  });

  test("a UserError without options has the default code and no metadata", async () => {
    const error = await rejection(client().trouble.getOrCreate(key()).refusePlainly(), "user", "user_error");
    assert.equal(error.message, "No");
    assert.equal(error.metadata, undefined);
  });

  for (const action of ["boom", "reject", "throwText"]) {
    test(`the text of a plain throw stays inside the server (${action})`, async () => {
      const handle = client().trouble.getOrCreate(key());
      const error = await rejection(handle[action](), "rivetkit", "internal_error");
      assert.equal(error.message, MASKED);
      assert.doesNotMatch(JSON.stringify([error, error.metadata ?? null]), /secret/);
      assert.equal(await handle.ping(), "pong");
    });
  }

  test("an unknown action is named", async () => {
    const handle = client().trouble.getOrCreate(key());
    const error = await rejection(handle.nowhere(), "actor", "action_not_found");
    assert.match(error.message, /nowhere/);
    assert.equal(await handle.ping(), "pong");
  });

  test("names of Object.prototype are not actions", async () => {
    const handle = client().trouble.getOrCreate(key());
    for (const name of ["toString", "constructor", "__proto__", "hasOwnProperty"]) {
      await rejection(handle.action({ name, args: [] }), "actor", "action_not_found");
    }
  });

  test("an action that exceeds its timeout fails and the actor goes on", async () => {
    const handle = client().impatient.getOrCreate(key());
    const since = performance.now();
    await rejection(handle.hang(), "actor", "action_timed_out");
    assert.ok(performance.now() - since >= 990, "not before the timeout");
    assert.equal(await handle.ping(), "pong");
  });

  test("a result that cannot be serialized is an error, and the actor goes on", async () => {
    const handle = client().trouble.getOrCreate(key());
    const error = await handle.unserializable().then(assert.fail, (reason) => reason);
    assert.equal(error.message, MASKED);
    assert.equal(await handle.ping(), "pong");
  });

  test("an argument over the limit is refused with message.incoming_too_long", async () => {
    const handle = client().echo.getOrCreate(key());
    await rejection(handle.same("x".repeat(70_000)), "message", "incoming_too_long");
    assert.equal(await handle.same("short"), "short");
  });

  test("a result over the limit is refused with message.outgoing_too_long", async () => {
    const handle = client().echo.getOrCreate(key());
    await rejection(handle.large(1_100_000), "message", "outgoing_too_long");
    assert.equal((await handle.large(900_000)).length, 900_000);
  });

  test("an unregistered actor name fails rather than hangs", anyName, async () => {
    await assert.rejects(client().nobody.create(key()), (error) => error.group === "actor");
  });
});
