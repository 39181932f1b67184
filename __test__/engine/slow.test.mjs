// An engine that is slow to reach: every piece of the session arrives late, both ways,
// and now and then nothing arrives for seconds.

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { clientOf, engine, eventually, member, persist } from "./pool.mjs";

const DELAY = { least: 50, most: 200 };

/** A way to the engine on which everything arrives late and in order; `stall` holds all of it. */
async function slowWayTo(t, endpoint, delays = DELAY) {
  const { port } = new URL(endpoint);
  const open = new Set();
  let held = 0;
  const late = async (from, to) => {
    const pieces = [];
    from.on("data", (piece) => {
      const delay = delays.least + Math.random() * (delays.most - delays.least);
      pieces.push({ piece, due: performance.now() + delay });
    });
    while (!to.destroyed) {
      const wait = Math.max(pieces[0]?.due ?? 0, held) - performance.now();
      if (wait > 0) await pause(wait);
      else if (pieces.length > 0) to.write(pieces.shift().piece);
      else await Promise.race([once(from, "data"), once(from, "close")]).catch(() => {});
    }
  };
  const server = createServer((near) => {
    const far = connect(Number(port), "127.0.0.1");
    const end = () => {
      open.delete(near);
      near.destroy();
      far.destroy();
    };
    open.add(near);
    for (const socket of [near, far]) socket.setNoDelay(true).on("error", end).on("close", end);
    late(near, far);
    late(far, near);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const stall = (span) => {
    held = performance.now() + span;
  };
  /** Nothing is taken from the sessions any more, or it is again. */
  const take = (takes) => {
    for (const socket of open) takes ? socket.resume() : socket.pause();
  };
  return { endpoint: `http://127.0.0.1:${server.address().port}`, stall, take };
}

test("what is called through a slow and stalling session happens once", { timeout: 240_000 }, async (t) => {
  const { endpoint } = await engine(t);
  const way = await slowWayTo(t, endpoint);
  const process = await member(t, way.endpoint);
  const handle = clientOf(t, endpoint).counter.getOrCreate("slow");
  await persist("an answer", () => handle.get());
  const connection = handle.connect();
  const heard = [];
  connection.on("count", (count) => heard.push(count));
  await connection.get();
  const answers = [];
  const caller = async (calls) => {
    for (let call = 0; call < calls; call++) answers.push(await connection.add(1));
  };
  const callers = Array.from({ length: 8 }, () => caller(10));
  for (const share of [20, 40, 60]) {
    while (answers.length < share) await connection.get();
    way.stall(3_000);
  }
  await Promise.all(callers);
  assert.equal(await handle.get(), 80);
  assert.equal(answers.length, 80);
  // An answer may count what was added while its save was on its way, and none is lost.
  assert.equal(Math.max(...answers), 80);
  assert.equal(heard.length, 80, "every call was told of once");
  assert.equal(await process.leave(), 0);
});

test("what an actor says while the engine takes nothing waits within bounds", { timeout: 240_000 }, async (t) => {
  const { endpoint } = await engine(t);
  const way = await slowWayTo(t, endpoint, { least: 0, most: 0 });
  const process = await member(t, way.endpoint);
  const client = clientOf(t, endpoint);
  const loud = client.notes.getOrCreate("loud");
  const quiet = client.notes.getOrCreate("quiet");
  const listener = loud.connect();
  const heard = [];
  const lost = [];
  listener.on("shout", (time) => heard.push(time));
  listener.onClose(() => lost.push("closed"));
  await persist("an answer", () => listener.all());
  const other = quiet.connect();
  await persist("an answer", () => other.all());
  await loud.shout(300);
  way.take(false);
  const shouted = () => process.said.find((message) => "shouted" in message);
  const { shouted: bytes } = await eventually("all was said", shouted);
  // A few of 300 MiB wait for the session and for the client.
  assert(bytes < 150 << 20, `${bytes} bytes more`);
  way.take(true);
  await persist("others are answered", () => other.where());
  await eventually("who fell behind is let go", () => lost.length > 0);
  assert(heard.length < 300);
  assert.equal(await persist("it comes again", () => listener.where()), process.pid);
  assert.equal(await process.leave(), 0);
});
