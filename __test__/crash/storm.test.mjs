// A seeded load on many actors (saves, rows, both at once, failures, sleeps,
// destroys), `kill -9` at a random instant, a restart, and a check of everything
// that is known; again and again on one folder. `GREENROOM_CRASH_ROUNDS` says how
// often (default 5; the long form is 50), `GREENROOM_CRASH_SEED` repeats a load.

import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import test from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { checkIntegrity, startServer, temporaryFolder } from "./harness.mjs";
import { KINDS, Known, seeded } from "./storm-model.mjs";

const ROUNDS = Number(process.env.GREENROOM_CRASH_ROUNDS ?? 5);
const SEED = Number(process.env.GREENROOM_CRASH_SEED ?? randomInt(2 ** 31));
const ACTORS = 8;
/** Milliseconds for answers that were on their way when the server died. */
const LAST_WORDS = 500;
/** Bytes of padding at most: enough for a checkpoint of the log every few dozen calls. */
const PAD_MAX = 30_000;
/** A life ends when its book has this many entries, if chance has not ended it before. */
const BOOK_MAX = 600;

let lastId = 0;

async function call(handle, known, random) {
  const kind = random.pick(KINDS);
  const id = ++lastId;
  const size = Math.floor(random.next() ** 3 * PAD_MAX);
  known.sending(id, kind);
  try {
    await handle[kind](id, size);
    known.answered(id);
  } catch (error) {
    const planned = kind === "fail" && error.code === "planned";
    // A transaction over the state had it for itself.
    if (!planned && error.code !== "state_transaction_conflict") throw error;
    known.refused(id);
  }
}

async function destroy(server, handle, known) {
  const actorId = await handle.resolve();
  known.destroying();
  const answer = await fetch(`${server.url}/actors/${actorId}?namespace=default`, { method: "DELETE" });
  if (!answer.ok) throw new Error(`destroy answered ${answer.status}: ${await answer.text()}`);
  known.destroyed(actorId);
}

/** Works on one actor until `isOver`; what fails before that is a finding. */
async function work(server, known, random, isOver) {
  const handle = server.client[known.name].getOrCreate([known.key]);
  try {
    while (!isOver()) {
      const burst = Array.from({ length: 1 + random.below(6) }, () => call(handle, known, random));
      const results = await Promise.allSettled(burst);
      const failed = results.find(({ status }) => status === "rejected");
      if (failed !== undefined) throw failed.reason;
      if (random.chance(0.05) || known.size > BOOK_MAX) await destroy(server, handle, known);
      else if (random.chance(0.2)) await handle.nap();
      // Long enough, now and then, to fall asleep by itself.
      if (random.chance(0.1)) await delay(60);
    }
  } catch (error) {
    if (!isOver()) throw error;
  }
}

/** When to kill: early, at a mark of the server, or just some time. */
async function instant(server, random) {
  const kind = random.next();
  if (kind < 0.4) {
    const wanted = random.pick(["migrating", "starting", "sleeping"]);
    await Promise.race([server.marked(wanted, random.below(8)), delay(1_500)]);
    await delay(random.next() ** 2 * 8);
  } else {
    await delay(random.next() ** 2 * 1_000);
  }
}

/** One round that ends with the kill. */
async function storm(server, actors, random) {
  let over = false;
  const load = Promise.all(actors.map((known) => work(server, known, seeded(random.below(2 ** 31)), () => over)));
  // A failure before the kill ends the round, and the test.
  await Promise.race([instant(server, random), load]);
  over = true;
  await server.kill();
  // Of some calls `fetch` of Node.js 20 never says that their server is gone: they
  // are as unknown as those that fail.
  await Promise.race([load, delay(LAST_WORDS)]);
}

async function check(server, actors, round) {
  const reports = await Promise.all(actors.map(({ name, key }) => server.client[name].getOrCreate([key]).report()));
  for (const [at, known] of actors.entries()) known.check(reports[at], round);
  return reports;
}

test(`nothing acknowledged is lost in ${ROUNDS} storms (GREENROOM_CRASH_SEED=${SEED})`, async (t) => {
  let server;
  // Before its folder goes: a server that lives would fill it again.
  t.after(() => server?.kill());
  const dataDir = temporaryFolder(t);
  const random = seeded(SEED);
  const actors = Array.from({ length: ACTORS }, (_, at) => new Known(at % 4 === 3 ? "replier" : "keeper", `k${at}`));
  server = await startServer(dataDir, 0, "storm-server.mjs");
  let [files, entries, early] = [0, 0, 0];
  for (let round = 1; round <= ROUNDS; round++) {
    await storm(server, actors, random);
    // A restart that is killed on its way up, once or several times.
    while (random.chance(0.3)) {
      const rising = startServer(dataDir, 0, "storm-server.mjs");
      await delay(random.next() * 250);
      await rising.killEarly();
      early++;
    }
    files = checkIntegrity(dataDir);
    server = await startServer(dataDir, 0, "storm-server.mjs");
    const reports = await check(server, actors, round);
    assert.deepEqual(server.violations, []);
    entries = reports.reduce((sum, { done, debit }) => sum + done.length + debit.length, 0);
    if (round % 50 === 0) t.diagnostic(`round ${round}: ${lastId} calls, ${entries} entries in ${files} databases`);
  }
  assert.ok(lastId > ROUNDS, "the storms did something");
  t.diagnostic(`${ROUNDS + early} kills, ${lastId} calls, ${entries} entries at the end in ${files} databases`);
});
