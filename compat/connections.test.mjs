import assert from "node:assert/strict";
import { test } from "node:test";
import { createClient } from "rivetkit/client";
import { asleep, closing, countCloses, eventually, nextError, nextEvent, status } from "./lib/connection.mjs";
import { onEngine, unlessOnEngine } from "./lib/host.mjs";
import { ENCODINGS, inEachEncoding, rejection } from "./lib/suite.mjs";

const invented = unlessOnEngine("an engine has another error for an id that is none");

inEachEncoding("connections", ({ encoding, client, key, url }) => {
  const connect = (t, handle, params) => closing(t, handle.connect(params));

  test("actions answer over the connection, each with its own result", async (t) => {
    const conn = connect(t, client().room.getOrCreate(key()));
    const answers = await Promise.all(Array.from({ length: 50 }, (_, at) => conn.slow(50 - at, at)));
    assert.deepEqual(
      answers,
      Array.from({ length: 50 }, (_, at) => at),
    );
    await rejection(conn.nowhere(), "actor", "action_not_found");
  });

  test("hooks see the parameters and make the connection's state", async (t) => {
    const handle = client().room.getOrCreate(key());
    const params = { name: "Ada née Byron 🌍", tags: ["a/b", "c,d"], quote: '"' };
    const conn = connect(t, handle, params);
    const me = await conn.me();
    assert.match(me.id, /^[0-9a-f-]{36}$/);
    assert.deepEqual(me, { id: me.id, params, state: { name: params.name, spoken: 0 }, hibernates: true });
    const { before, created, connected, disconnected } = await conn.hooks();
    assert.deepEqual(
      { before, created, connected, disconnected },
      { before: 1, created: 1, connected: 1, disconnected: 0 },
    );
  });

  test("an event that a hook sends comes after Init and is heard", async (t) => {
    const conn = connect(t, client().room.getOrCreate(key()), { name: "Bo" });
    assert.deepEqual(await nextEvent(conn, "welcome"), ["Bo"]);
  });

  test("who subscribed before the first action hears what the action broadcasts, and hears it first", async (t) => {
    const conn = connect(t, client().room.getOrCreate(key()), { name: "Cy" });
    const order = [];
    conn.on("said", ({ from, text }) => order.push(`${from}: ${text}`));
    order.push(await conn.say("hi"));
    assert.deepEqual(order, ["Cy: hi", "said hi"]);
  });

  test("a thousand events of one action arrive whole and in order", async (t) => {
    const conn = connect(t, client().room.getOrCreate(key()));
    const ticks = [];
    conn.on("tick", (at) => ticks.push(at));
    await conn.burst(1_000);
    assert.deepEqual(
      ticks,
      Array.from({ length: 1_000 }, (_, at) => at),
    );
  });

  test("who left off listening hears no more, and `once` hears once", async (t) => {
    const conn = connect(t, client().room.getOrCreate(key()));
    const [always, once] = [[], []];
    const stop = conn.on("said", ({ text }) => always.push(text));
    conn.once("said", ({ text }) => once.push(text));
    await conn.say("one");
    await conn.say("two");
    stop();
    await conn.say("three");
    assert.deepEqual([always, once], [["one", "two"], ["one"]]);
  });

  test("conn.send reaches its connection only, subscribed or not", async (t) => {
    const handle = client().room.getOrCreate(key());
    const [one, other] = [connect(t, handle), connect(t, handle)];
    const heard = [];
    other.on("whispered", (text) => heard.push(text));
    await other.names();
    const whispered = nextEvent(one, "whispered");
    await one.whisper("psst");
    assert.deepEqual(await whispered, ["psst"]);
    await other.names();
    assert.deepEqual(heard, []);
  });

  test("values arrive in events as they were", async (t) => {
    const conn = connect(t, client().room.getOrCreate(key()));
    const values = [1n << 60n, new Uint8Array([0, 255]), null, { deep: [[{}]] }, "é🌍"];
    // The client itself cannot say the one in CBOR and the other in JSON.
    if (encoding !== "cbor") values.push(["$a", 2]);
    if (encoding !== "json") values.push(undefined);
    const repeated = nextEvent(conn, "repeated");
    await conn.repeat(...values);
    const [big, bytes, ...rest] = await repeated;
    assert.equal(big, values[0]);
    assert.deepEqual([...new Uint8Array(bytes)], [0, 255]);
    assert.deepEqual(rest, values.slice(2));
  });

  test("errors of actions reach their caller, the very first one too", async (t) => {
    const conn = connect(t, client().room.getOrCreate(key()));
    const error = await rejection(conn.refuse(), "user", "closed");
    assert.deepEqual([error.message, error.metadata], ["Not today", { opensAt: 9 }]);
    const masked = await rejection(conn.boom(), "rivetkit", "internal_error");
    assert.doesNotMatch(masked.message, /secret/);
    await rejection(conn.hang(), "actor", "action_timed_out");
    assert.equal(conn.connStatus, "connected");
  });

  test("c.conns holds who is connected, with their state", async (t) => {
    const handle = client().room.getOrCreate(key());
    const [ada, bo] = ["Ada", "Bo"].map((name) => connect(t, handle, { name }));
    await ada.me();
    await bo.me();
    assert.deepEqual(await ada.names(), ["Ada", "Bo"]);
    const left = nextEvent(ada, "left");
    await bo.dispose();
    assert.deepEqual(await left, ["Bo"]);
    assert.deepEqual(await ada.names(), ["Ada"]);
    assert.deepEqual(await ada.left(), ["Bo"]);
  });

  test("dispose resolves when the server has answered the goodbye", async () => {
    const conn = client().room.getOrCreate(key()).connect();
    await conn.me();
    await conn.dispose();
    assert.equal(conn.connStatus, "idle");
  });

  test("conn.disconnect closes the connection, and the client comes back as another", async (t) => {
    const conn = connect(t, client().room.getOrCreate(key()), { name: "Ada" });
    const before = (await conn.me()).id;
    const lost = status(conn, "disconnected");
    conn.kick("bye").catch(() => {});
    await lost;
    await status(conn, "connected");
    const after = (await conn.me()).id;
    assert.notEqual(after, before);
    const { connected, disconnected } = await conn.hooks();
    assert.deepEqual([connected, disconnected], [2, 1]);
  });

  test("a client subscribes anew when it comes back", async (t) => {
    const handle = client().room.getOrCreate(key());
    const [stays, goes] = [connect(t, handle), connect(t, handle)];
    const heard = [];
    goes.on("said", ({ text }) => heard.push(text));
    await stays.me();
    await goes.me();
    const lost = status(goes, "disconnected");
    assert.equal(await stays.kickOthers(), 1);
    await lost;
    await status(goes, "connected");
    await goes.me();
    await stays.say("back?");
    await goes.me();
    assert.deepEqual(heard, ["back?"]);
  });

  test("a destroyed actor's connections close, and their clients find its successor", async (t) => {
    const conn = connect(t, client().room.getOrCreate(key()));
    await conn.say("x");
    const lost = status(conn, "disconnected");
    conn.leave().catch(() => {});
    await lost;
    await status(conn, "connected");
    const { connected } = await conn.hooks();
    assert.equal(connected, 1);
  });

  test("an unknown actor is an error, and the end of it", invented, async (t) => {
    const conn = connect(t, client().room.getForId("a".repeat(30)));
    const error = await nextError(conn);
    assert.equal(`${error.group}.${error.code}`, "actor.not_found");
    await status(conn, "idle");
  });

  test("a hook that refuses is heard with its metadata", async (t) => {
    const conn = connect(t, client().room.getOrCreate(key()), { name: "banned" });
    const error = await nextError(conn);
    assert.deepEqual(
      [`${error.group}.${error.code}`, error.message, error.metadata],
      ["user.banned", "You are not welcome", { until: "tomorrow" }],
    );
    await status(conn, "idle");
  });

  test("what a hook throws by mistake stays inside the server", async (t) => {
    const conn = connect(t, client().room.getOrCreate(key()), { name: "broken" });
    const error = await nextError(conn);
    assert.doesNotMatch(JSON.stringify([error.message, error.metadata ?? null]), /secret/);
    await status(conn, "idle");
  });

  test("onConnect that never ends is cut, and the connection was never there", async (t) => {
    const handle = client().room.getOrCreate(key());
    const conn = connect(t, handle, { name: "late" });
    const error = await nextError(conn);
    assert.equal(`${error.group}.${error.code}`, "actor.callback_timed_out");
    assert.deepEqual(await handle.left().then((left) => left.includes("late")), false);
  });

  test("a message over the limit closes the connection, and the client comes back", async (t) => {
    const conn = connect(t, client().room.getOrCreate(key()));
    await conn.me();
    const failed = nextError(conn);
    await rejection(conn.size("x".repeat(70_000)), "message", "incoming_too_long");
    assert.equal((await failed).code, "incoming_too_long");
    await status(conn, "connected");
    assert.equal(await conn.size("x".repeat(60_000)), 60_000);
  });

  test("an answer over the limit fails alone", async (t) => {
    const conn = connect(t, client().room.getOrCreate(key()));
    await rejection(conn.large(1_100_000), "message", "outgoing_too_long");
    assert.equal((await conn.large(900_000)).length, 900_000);
  });

  test("an event over the limit closes the connection of whom it was for", async (t) => {
    const conn = connect(t, client().room.getOrCreate(key()));
    conn.on("large", () => assert.fail("too large to arrive"));
    await conn.me();
    const failed = nextError(conn);
    conn.largeEvent(1_100_000).catch(() => {});
    assert.equal((await failed).code, "outgoing_too_long");
  });

  test("c.sleep leaves connections open: id, state and subscriptions survive", async (t) => {
    const conn = connect(t, client().room.getOrCreate(key()), { name: "Ada" });
    const closes = countCloses(conn);
    const heard = [];
    conn.on("said", ({ text }) => heard.push(text));
    await conn.say("before");
    const [me, hooks] = [await conn.me(), await conn.hooks()];
    await conn.nap();
    assert.equal(await conn.say("after"), "said after");
    assert.deepEqual(heard, ["before", "after"]);
    assert.deepEqual(await conn.me(), { ...me, state: { name: "Ada", spoken: 2 } });
    assert.deepEqual(await conn.hooks(), { ...hooks, woken: hooks.woken + 1 });
    assert.equal(closes(), 0);
  });

  test("calls made around a sleep are each run once", async (t) => {
    const conn = connect(t, client().room.getOrCreate(key()));
    const heard = [];
    conn.on("said", ({ text }) => heard.push(text));
    await conn.me();
    const calls = [];
    for (let at = 0; at < 60; at++) {
      calls.push(conn.say(String(at)));
      if (at % 20 === 10) calls.push(conn.nap().then(() => undefined));
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await Promise.all(calls);
    assert.deepEqual(
      heard.map(Number).sort((a, b) => a - b),
      Array.from({ length: 60 }, (_, at) => at),
    );
    assert.equal((await conn.me()).state.spoken, 60);
  });

  test("an idle actor sleeps under its connections and wakes at the next message", async (t) => {
    const handle = client().sleeper.getOrCreate(key());
    const conn = connect(t, handle);
    const closes = countCloses(conn);
    const counted = [];
    conn.on("counted", (count) => counted.push(count));
    const first = await conn.count();
    await asleep(url(), await handle.resolve());
    const { woken, ...second } = await conn.count();
    assert.deepEqual(second, { mine: 2, all: 2, id: first.id });
    // On its way through an engine a message may take longer than the actor stays awake.
    assert(onEngine ? woken > first.woken : woken === first.woken + 1, `${woken} after ${first.woken}`);
    assert.deepEqual(counted, [1, 2]);
    assert.equal(closes(), 0);
  });

  test("canSubscribe decides who hears an event", async (t) => {
    const handle = client().guarded.getOrCreate(key());
    const spy = connect(t, handle, { role: "spy" });
    const heard = eventually("the secret", (done) => spy.on("secret", done));
    await spy.publish();
    assert.equal(await heard, 1);
    const other = connect(t, handle, { role: "guest" });
    const listened = [];
    const error = await eventually("the refusal", (done) => {
      const stop = other.on("secret", (value) => listened.push(value));
      other.onError((refusal) => {
        // It comes back at once; asking again would be refused again.
        stop();
        done(refusal);
      });
    });
    assert.equal(`${error.group}.${error.code}`, "auth.forbidden");
    await spy.publish();
    await other.publish();
    assert.deepEqual(listened, []);
  });

  test("clients of all encodings on one actor hear the same event", async (t) => {
    const same = key();
    const conns = ENCODINGS.filter(Boolean).map((encoding) => {
      const theirs = createClient({ endpoint: url(), encoding });
      t.after(() => theirs.dispose());
      return closing(t, theirs.room.getOrCreate(same).connect());
    });
    const heard = conns.map((conn) => nextEvent(conn, "said"));
    // Subscriptions have no answer; an action behind them has.
    await Promise.all(conns.map((conn) => conn.me()));
    await connect(t, client().room.getOrCreate(same)).say("all");
    for (const said of await Promise.all(heard)) assert.deepEqual(said, [{ from: "nobody", text: "all" }]);
  });

  test("two sockets opened in the same tick are two connections", async (t) => {
    const handle = client().room.getOrCreate(key());
    const conns = [connect(t, handle), connect(t, handle)];
    const ids = await Promise.all(conns.map(async (conn) => (await conn.me()).id));
    assert.notEqual(ids[0], ids[1]);
    assert.equal((await conns[0].names()).length, 2);
  });

  test("keys of any kind can be connected to", async (t) => {
    for (const part of ["a/b", "x,y", 'say "hi"', "", "🌍", "per%20cent", "back\\slash"]) {
      const target = [...key(), part];
      const conn = connect(t, client().room.getOrCreate(target));
      const other = connect(t, client().room.getOrCreate(target));
      const [one] = await Promise.all([conn.me(), other.me()]);
      assert.equal((await other.names()).length, 2, JSON.stringify(target));
      assert.ok(one.id);
    }
  });
});
