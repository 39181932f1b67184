// The engine as a process that the program brings along.

import assert from "node:assert/strict";
import { test } from "node:test";
import { BINARY, clientOf, eventually, freePort, member, persist, temporaryFolder } from "./pool.mjs";

const answers = (endpoint) =>
  fetch(`${endpoint}/health`).then(
    () => true,
    () => false,
  );

test("a program starts its engine, another one uses it, and it ends with the first", async (t) => {
  const endpoint = `http://127.0.0.1:${await freePort()}`;
  const env = { RIVET_ENGINE_BINARY: BINARY, GREENROOM_DATA_DIR: temporaryFolder(t) };
  const first = await member(t, endpoint, { env });
  const handle = clientOf(t, endpoint).counter.getOrCreate("kept");
  assert.equal(await persist("an answer", () => handle.add(1)), 1);
  const second = await member(t, endpoint, { env });
  assert.equal(await second.leave(), 0);
  assert(await answers(endpoint), "whoever did not start it leaves it");
  assert.equal(await first.leave(), 0);
  assert(!(await answers(endpoint)), "whoever did stops it");

  const again = await member(t, endpoint, { env });
  assert.equal(await persist("an answer", () => handle.get()), 1, "what it stored is there");
  assert.equal(await again.leave(), 0);
  await eventually("the engine is gone", async () => !(await answers(endpoint)));
});

test("without a program to start, and with nobody at the endpoint, it says so", async (t) => {
  const endpoint = `http://127.0.0.1:${await freePort()}`;
  const env = { RIVET_ENGINE_BINARY: "/no/such/engine", GREENROOM_DATA_DIR: temporaryFolder(t) };
  await assert.rejects(member(t, endpoint, { env }), /ended with 1/);
});
