// Connections of clients whose actor moves to another process of the pool.

import assert from "node:assert/strict";
import { test } from "node:test";
import { clientOf, engine, eventually, member, persist } from "./pool.mjs";

/** A connection to an actor of the first of two processes, which has been stored. */
async function connected(t, key) {
  const { endpoint } = await engine(t);
  const first = await member(t, endpoint);
  const handle = clientOf(t, endpoint).counter.getOrCreate(key);
  assert.equal(await persist("a first answer", () => handle.where()), first.pid);
  const connection = handle.connect();
  const counts = [];
  connection.on("count", (count) => counts.push(count));
  let opened = 0;
  connection.onOpen(() => opened++);
  assert.equal(await connection.add(1), 1);
  // Saves at once, and the connection's rows with the state.
  assert.equal(await handle.add(1), 2);
  const second = await member(t, endpoint);
  const { connectionId } = connection;
  const isTheSame = () => assert.deepEqual([connection.connectionId, opened], [connectionId, 1]);
  return { first, second, handle, connection, counts, isTheSame };
}

test("a client stays connected when its actor's process is killed", async (t) => {
  const { first, second, handle, connection, counts, isTheSame } = await connected(t, "killed");
  await first.kill();
  // Who speaks before the engine knows of the loss is disconnected by its gateway.
  assert.equal(await persist("the actor is elsewhere", () => handle.where()), second.pid);
  assert.equal(await connection.add(1), 3);
  assert.equal(await connection.where(), second.pid);
  assert.equal(await handle.add(1), 4);
  await eventually("its subscription is there", () => counts.includes(4));
  assert.deepEqual(counts, [1, 2, 3, 4]);
  isTheSame();
  assert.equal(await second.leave(), 0);
});

test("what a client says while its actor's process leaves is done once, and it stays connected", async (t) => {
  const { first, second, handle, connection, counts, isTheSame } = await connected(t, "leaves");
  const answers = [];
  const left = first.leave();
  while (answers.length < 30 || (await connection.where()) !== second.pid) answers.push(await connection.add(1));
  assert.equal(await left, 0);
  const expected = Array.from({ length: answers.length }, (_, at) => at + 3);
  assert.deepEqual(answers, expected);
  assert.equal(await handle.get(), answers.length + 2);
  await eventually("all was told", () => counts.length === answers.length + 2);
  isTheSame();
  assert.equal(await second.leave(), 0);
});
