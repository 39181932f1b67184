// What only shows in numbers: a thousand actors in one process, and what thousands of
// starts leave behind. `GREENROOM_LONG=1` takes the long form.

import assert from "node:assert/strict";
import { test } from "node:test";
import { abreast, FOR_CROWDS, insistence, makeCrowd, restart } from "./crowd.mjs";
import { clientOf, engine, member } from "./pool.mjs";

const LONG = process.env.GREENROOM_LONG === "1";
const ACTORS = LONG ? 1_000 : 100;
const STARTS = LONG ? 10_000 : 100;
/** Starts before memory is looked at: they warm allocators and caches up. */
const WARMING = LONG ? 1_000 : 50;
/** Actors that sleep and wake in turn. */
const LIVING = 25;
/** Bytes that allocators and caches may still take, and those of one start's noise. */
const SETTLING = 8 * 2 ** 20;
const NOISE = 1024;

/** A process on an engine, and a client that does not give up. */
async function crowd(t) {
  const { endpoint } = await engine(t, FOR_CROWDS);
  // One arena: with many, what threads leave behind in each looks like growth.
  const env = { MALLOC_ARENA_MAX: "1" };
  const process = await member(t, endpoint, { program: "crowd-member.mjs", flags: ["--expose-gc"], env });
  const { insist, refusals } = insistence();
  const client = clientOf(t, endpoint);
  await insist(() => client.member.getOrCreate(["first"]).add());
  return { process, client, insist, refusals, figures: () => process.ask("figures") };
}

const kib = (bytes) => `${(bytes / 1024).toFixed(0)} KiB`;
const perSecond = (count, since) => `${((count * 1000) / (performance.now() - since)).toFixed(1)} a second`;

test(`${ACTORS} actors live in one process, and each of them answers`, { timeout: 1_800_000 }, async (t) => {
  const place = await crowd(t);
  const before = await place.figures();
  let since = performance.now();
  const handles = await makeCrowd(place, ACTORS);
  const made = perSecond(ACTORS, since);
  since = performance.now();
  const counts = [];
  await abreast(handles, async (handle) => counts.push(await place.insist(() => handle.add())));
  const { starts, bytes } = await place.figures();
  const each = (bytes - before.bytes) / ACTORS;
  t.diagnostic(
    `made ${made}, called ${perSecond(ACTORS, since)}, ${kib(each)} each, ${JSON.stringify(place.refusals)}`,
  );
  assert.equal(starts, ACTORS + 1, "none has started twice: all live");
  // A call that the engine gave up on may have been done.
  assert(counts.every((count) => count >= 2));
  assert(each < 512 * 1024, kib(each));
  assert.equal(await place.process.leave(), 0);
});

test(`memory does not grow over ${STARTS} starts`, { timeout: 7_200_000 }, async (t) => {
  const place = await crowd(t);
  const handles = await makeCrowd(place, LIVING);
  await restart(place, handles, WARMING);
  const before = await place.figures();
  const seen = [before.bytes];
  const since = performance.now();
  for (let quarter = 0; quarter < 4; quarter++) {
    await restart(place, handles, STARTS / 4);
    seen.push((await place.figures()).bytes);
  }
  const { starts, bytes } = await place.figures();
  const each = (bytes - before.bytes) / (starts - before.starts);
  const line = seen.map((bytes) => (bytes / 2 ** 20).toFixed(1)).join(", ");
  t.diagnostic(
    `${perSecond(STARTS, since)}, ${each.toFixed(0)} bytes a start; ${line} MB; ${JSON.stringify(place.refusals)}`,
  );
  assert(starts - before.starts >= STARTS * 0.9, `${starts - before.starts} starts`);
  // A runtime, a context or a database that stays would be tens of kilobytes a start.
  assert(bytes - before.bytes < SETTLING + NOISE * STARTS, `${bytes - before.bytes} bytes more`);
  assert.equal(await place.process.leave(), 0);
});
