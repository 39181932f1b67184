// An actor that has answered exists: new actors, one after the other, `kill -9` at a
// random instant, a restart, and every answer must be that of the same actor. What
// was not answered is nobody's: it leaves neither a database without an actor nor
// half of one. `GREENROOM_CRASH_ROUNDS` says how often (default 5).

import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { checkIntegrity, startServer, temporaryFolder } from "./harness.mjs";

const ROUNDS = Number(process.env.GREENROOM_CRASH_ROUNDS ?? 5);
/** Actors that are made at the same time. */
const WORKERS = 4;
const PATIENCE = 20_000;
const SERVER = "births-server.mjs";

/** One round of births that ends with the kill. Answers what was told, by key. */
async function bearAndKill(server, round) {
  let dying = false;
  const told = new Map();
  const asked = [];
  let firstAnswer;
  const answered = new Promise((resolve) => {
    firstAnswer = resolve;
  });
  const worker = async (_, at) => {
    for (let number = 0; !dying; number++) {
      const key = `${round}-${at}-${number}`;
      asked.push(key);
      try {
        told.set(key, await server.client.newborn.getOrCreate([key]).who());
      } catch (error) {
        if (!dying) throw error;
      }
      firstAnswer();
    }
  };
  const load = Promise.all(Array.from({ length: WORKERS }, worker));
  await Promise.race([answered, load]);
  await Promise.race([delay(Math.random() ** 2 * 400), load]);
  dying = true;
  await server.kill();
  // A call whose server is gone may never end; it is unknown either way.
  await Promise.race([load, delay(500)]);
  return { told, asked };
}

/** Calls `work` with each of `all`, a few at a time. */
async function eachOf(all, work) {
  const left = [...all];
  const worker = async () => {
    while (left.length > 0) await work(left.pop());
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

/** Files that never got their name. */
function unnamed(dataDir) {
  const folders = readdirSync(join(dataDir, "actors")).map((name) => join(dataDir, "actors", name));
  return folders.flatMap((folder) => readdirSync(folder).filter((name) => name.endsWith("-new")));
}

test(`actors that answered survive ${ROUNDS} kills in the middle of births`, async (t) => {
  const dataDir = temporaryFolder(t);
  let server = await startServer(dataDir, 0, SERVER);
  t.after(() => server.kill());
  let answered = 0;
  for (let round = 1; round <= ROUNDS; round++) {
    const { told, asked } = await bearAndKill(server, round);
    answered += told.size;
    const files = checkIntegrity(dataDir);
    assert.ok(files >= answered, `${files} databases of ${answered} actors`);
    server = await startServer(dataDir, 0, SERVER);
    const who = (key) => server.client.newborn.getOrCreate([key]).who();
    // What was not answered is made now, or was; nothing is left of an interrupted birth.
    const now = new Map();
    await eachOf(asked, async (key) => now.set(key, await who(key)));
    for (const [key, was] of told) assert.deepEqual(now.get(key), was, key);
    const deadline = performance.now() + PATIENCE;
    while (unnamed(dataDir).length > 0) {
      assert.ok(performance.now() < deadline, `left: ${unnamed(dataDir)}`);
      await delay(10);
    }
    assert.ok(!existsSync(join(dataDir, "orphans")), "a database without an actor");
  }
  t.diagnostic(`${answered} actors that had answered`);
});
