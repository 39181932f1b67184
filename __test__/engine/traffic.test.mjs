// Calls that go on while processes are killed and the engine is, counted both ways.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { clientOf, engine, eventually, member, persist } from "./pool.mjs";

const ACTORS = 8;
/** A killed process's actors go to the next one after this time, not after the usual 15 s. */
const HASTY = { RIVET__PEGBOARD__ENVOY_LOST_THRESHOLD: "5000" };

/**
 * One caller: gives its actor one entry after the other, each once, and notes what
 * became of it. `done` ends it.
 */
function caller(t, name, put) {
  const acknowledged = [];
  const unknown = [];
  const caught = {};
  let ended = false;
  const calling = async () => {
    for (let at = 0; !ended; at++) {
      const entry = `${name}-${at}`;
      await put(entry).then(
        () => acknowledged.push(entry),
        async (error) => {
          unknown.push(entry);
          caught.last = error;
          await pause(50);
        },
      );
    }
  };
  const running = calling();
  const done = () => {
    ended = true;
    return running;
  };
  t.after(() => void done());
  return { name, acknowledged, unknown, caught, done };
}

/** Resolves when each of these was answered this many times more. */
const goesOn = async (t, what, callers, times) => {
  const began = performance.now();
  const goals = callers.map(({ acknowledged }) => acknowledged.length + times);
  const behind = () => callers.filter(({ acknowledged }, at) => acknowledged.length < goals[at]);
  const names = () =>
    behind().map(({ name, unknown, caught }) => `${name}, ${unknown.length} without an answer, at last ${caught.last}`);
  await eventually(
    () => `${what}, but for ${names().join("; ")}`,
    () => behind().length === 0,
  );
  t.diagnostic(`${what}: ${Math.round(performance.now() - began)} ms`);
};

test("what is called while processes and the engine are killed is counted", { timeout: 400_000 }, async (t) => {
  const { endpoint, kill, start } = await engine(t, HASTY);
  const members = [await member(t, endpoint), await member(t, endpoint)];
  const client = clientOf(t, endpoint);
  const names = Array.from({ length: ACTORS }, (_, at) => `ledger-${at}`);
  const handles = names.map((name) => client.ledger.getOrCreate(name));
  await Promise.all(handles.map((handle) => persist("an answer", () => handle.all())));
  const connections = handles.map((handle) => handle.connect());
  const asking = handles.map((handle, at) => caller(t, `http-${at}`, (entry) => handle.put(entry)));
  const talking = connections.map((connection, at) => caller(t, `socket-${at}`, (entry) => connection.put(entry)));
  const callers = [...asking, ...talking];
  await goesOn(t, "all are answered", callers, 20);

  for (const at of members.keys()) {
    await members[at].kill();
    members[at] = await member(t, endpoint);
    await goesOn(t, "all go on after a process was killed", callers, 20);
  }
  await kill();
  await start();
  await goesOn(t, "all go on after the engine was killed", callers, 20);
  await Promise.all(callers.map(({ done }) => done()));

  let twice = 0;
  for (const [at, handle] of handles.entries()) {
    const entries = await persist("what there is", () => handle.all());
    const there = new Set(entries);
    for (const { acknowledged, unknown } of [asking[at], talking[at]]) {
      assert.deepEqual(
        acknowledged.filter((entry) => !there.has(entry)),
        [],
        "nothing that was acknowledged is lost",
      );
      for (const entry of [...acknowledged, ...unknown]) there.delete(entry);
    }
    assert.deepEqual([...there], [], "nothing is there that nobody gave");
    const again = entries.filter((entry, place) => entries.indexOf(entry) !== place);
    assert.deepEqual(
      again.filter((entry) => entry.startsWith("http")),
      [],
      "a call over HTTP is done once",
    );
    // What an engine holds of a connection goes to the next process: docs/hosts.md.
    twice += again.length;
  }
  const sum = (list) => callers.reduce((total, each) => total + each[list].length, 0);
  t.diagnostic(`${sum("acknowledged")} acknowledged, ${sum("unknown")} without an answer, ${twice} done twice`);
  // One for each connection and kill of a process, if it was the call that was just saved.
  assert(twice <= ACTORS * members.length * 2, `${twice} were done twice`);
  await Promise.all(connections.map((connection) => connection.dispose()));
  for (const each of members) assert.equal(await each.leave(), 0);
});
