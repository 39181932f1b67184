// Nothing acknowledged is lost: increments, `kill -9` at a random instant, a
// restart on the same folder, and again. `GREENROOM_CRASH_ROUNDS` says how often
// (default 5; the long form is 50), `GREENROOM_CRASH_CALLS` how many calls a
// round sends at most (default 1,000).

import assert from "node:assert/strict";
import test from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { checkIntegrity, Ledger, startServer, temporaryFolder } from "./harness.mjs";

const ROUNDS = Number(process.env.GREENROOM_CRASH_ROUNDS ?? 5);
const CALLS = Number(process.env.GREENROOM_CRASH_CALLS ?? 1000);
/** Calls in flight at once on each counter. */
const WORKERS = 4;

const COUNTERS = [
  { name: "saving", key: "a" },
  { name: "saving", key: "b" },
  { name: "replying", key: "a" },
  { name: "rows", key: "a" },
  { name: "together", key: "a" },
];

const handleOf = (client, { name, key }) => client[name].getOrCreate([key]);

/** One round of load that ends with the kill; the ledgers keep what was answered. */
async function loadAndKill(server, ledgers) {
  let dying = false;
  let firstAnswer;
  const answered = new Promise((resolve) => {
    firstAnswer = resolve;
  });
  const work = COUNTERS.flatMap((counter, at) =>
    Array.from({ length: WORKERS }, () =>
      ledgers[at].work(
        handleOf(server.client, counter),
        Math.ceil(CALLS / WORKERS / COUNTERS.length),
        () => dying,
        firstAnswer,
      ),
    ),
  );
  const load = Promise.all(work);
  // A failure before the kill is a finding, not a part of the plan.
  await Promise.race([answered, load]);
  await Promise.race([delay(Math.random() ** 2 * 1500), load]);
  dying = true;
  await server.kill();
  await load;
}

async function compare(server, ledgers, before, round) {
  const counts = await Promise.all(COUNTERS.map((counter) => handleOf(server.client, counter).get()));
  for (const [at, count] of counts.entries()) {
    const { sent, answered, highest } = ledgers[at];
    const facts = `round ${round}, ${COUNTERS[at].name}/${COUNTERS[at].key}: on disk ${count}, answered ${answered} up to ${highest}, sent ${sent}, before ${before[at]}`;
    assert.ok(count >= answered, `an answered increment is missing: ${facts}`);
    assert.ok(count >= highest, `the count went back behind an answer: ${facts}`);
    assert.ok(count >= before[at], `the count went back: ${facts}`);
    assert.ok(count <= sent, `more than was ever sent: ${facts}`);
  }
  return counts;
}

test(`answered increments survive ${ROUNDS} rounds of kill -9, and never count twice`, async (t) => {
  const dataDir = temporaryFolder(t);
  const ledgers = COUNTERS.map(() => new Ledger());
  let server = await startServer(dataDir);
  t.after(() => server.kill());
  let counts = COUNTERS.map(() => 0);
  for (let round = 1; round <= ROUNDS; round++) {
    await loadAndKill(server, ledgers);
    const files = checkIntegrity(dataDir);
    assert.ok(files >= COUNTERS.length, `only ${files} database files found`);
    server = await startServer(dataDir);
    counts = await compare(server, ledgers, counts, round);
  }
  const sum = (field) => ledgers.reduce((total, ledger) => total + ledger[field], 0);
  assert.ok(sum("answered") > 0);
  t.diagnostic(`${sum("sent")} sent, ${sum("answered")} answered, ${counts.reduce((a, b) => a + b)} on disk`);
});
