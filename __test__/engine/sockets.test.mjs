// Connections of clients whose actor moves to another process of the pool.

import assert from "node:assert/strict";
import { test } from "node:test";
import { clientOf, engine, eventually, member, persist } from "./pool.mjs";

/** An actor of the first of two processes, and a client. */
async function moving(t, key) {
  const { endpoint } = await engine(t);
  const first = await member(t, endpoint);
  const client = clientOf(t, endpoint);
  const handle = client.notes.getOrCreate(key);
  assert.equal(await persist("a first answer", () => handle.where()), first.pid);
  const second = await member(t, endpoint);
  const moved = () => persist("the actor is elsewhere", () => handle.where());
  return { endpoint, first, second, handle, moved };
}

/** A raw socket and what it hears. */
async function rawSocket(t, handle) {
  const socket = await handle.webSocket();
  t.after(() => socket.close());
  const heard = [];
  const closed = [];
  socket.addEventListener("message", ({ data }) => heard.push(data));
  socket.addEventListener("close", ({ code, reason }) => closed.push(`${code} ${reason}`));
  await eventually("the socket is open", () => socket.readyState === 1);
  const ask = async (text) => {
    const answer = () => heard.findLast((said) => said.endsWith(` ${text}`));
    socket.send(text);
    await eventually(`an answer to ${text}`, () => answer() ?? closed.length > 0);
    assert.deepEqual(closed, []);
    return answer();
  };
  return { ask, heard, closed };
}

const range = (from, to) => Array.from({ length: to - from }, (_, at) => String(from + at));

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

test("what was answered and not saved when a process was killed is done again, and none is lost", async (t) => {
  const { first, second, handle, moved } = await moving(t, "unsaved");
  const connection = handle.connect();
  let opened = 0;
  connection.onOpen(() => opened++);
  await connection.note("0");
  // Its rows are there when something of it was saved.
  await handle.keep();
  for (const text of range(1, 21)) await connection.note(text);
  await first.kill();
  assert.equal(await moved(), second.pid);
  assert.equal(await connection.where(), second.pid);
  // What a save was made over may be in it without being named there, and is done twice.
  assert.deepEqual([...new Set(await connection.all())], range(0, 21));
  assert.equal(opened, 1);
  assert.equal(await second.leave(), 0);
});

test("a raw socket that may hibernate goes on where its actor does, after a kill and after a leave", async (t) => {
  const { endpoint, first, second, handle, moved } = await moving(t, "raw");
  const { ask, heard, closed } = await rawSocket(t, handle);
  for (const text of range(0, 5)) assert.equal(await ask(text), `${first.pid} ${text}`);
  await handle.keep();
  await first.kill();
  assert.equal(await moved(), second.pid);
  for (const text of range(5, 10)) assert.equal(await ask(text), `${second.pid} ${text}`);
  const third = await member(t, endpoint);
  const left = second.leave();
  let at = 10;
  while ((await ask(String(at))) !== `${third.pid} ${at}`) at++;
  assert.equal(await left, 0);
  assert.deepEqual([...new Set(await handle.all())], range(0, at + 1));
  assert(heard.length >= at + 1);
  assert.deepEqual(closed, []);
  assert.equal(await third.leave(), 0);
});

test("who waits for an answer that takes long hears of it when the process is killed", async (t) => {
  const { first, second, handle, moved } = await moving(t, "long");
  const connection = handle.connect();
  await connection.note("0");
  const hanging = connection.hang().then(
    (value) => ({ value }),
    (error) => ({ error }),
  );
  let ended;
  hanging.then((outcome) => (ended = outcome));
  // Longer than an unanswered message is kept for.
  await new Promise((resolve) => setTimeout(resolve, 35_000));
  assert.equal(ended, undefined);
  assert.equal(connection.connStatus ?? "connected", "connected");
  await first.kill();
  assert.equal(await moved(), second.pid);
  await eventually("it hears of it", () => ended);
  assert.ok(ended.error, JSON.stringify(ended));
  await eventually("the connection is there again", () =>
    connection.where().then(
      (pid) => pid === second.pid,
      () => false,
    ),
  );
  assert.equal(await second.leave(), 0);
});

test("a process that is resumed after its connections have moved says nothing to their clients", async (t) => {
  const { first, second, handle, connection, counts, isTheSame } = await connected(t, "frozen");
  first.freeze();
  assert.equal(await persist("the actor is elsewhere", () => handle.where()), second.pid);
  assert.equal(await connection.add(1), 3);
  first.thaw();
  for (let count = 4; count < 24; count++) assert.equal(await connection.add(1), count);
  await eventually("all was told", () => counts.includes(23));
  assert.deepEqual(
    counts,
    Array.from({ length: 23 }, (_, at) => at + 1),
  );
  isTheSame();
  // It is one of the pool again, and takes the actor over with its connection.
  assert.equal(await second.leave(), 0);
  assert.equal(await persist("it is back", () => connection.where()), first.pid);
  assert.equal(await connection.add(1), 24);
  isTheSame();
  assert.equal(await first.leave(), 0);
});
