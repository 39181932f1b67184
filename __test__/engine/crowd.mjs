// Many actors of one process, whoever made it: some at a time, so that the engine is
// never asked for more than it bears.

import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

/**
 * Calls under way at once. With more of them an engine starts no more actors a second:
 * they wait there, and time out.
 */
export const ABREAST = 2;
/** Actors that are put to sleep before the first of them is woken: it sleeps by then. */
const BATCH = 10;
const TICKS_PER_SECOND = 100;

/**
 * For an engine with many live actors. It looks whether an actor's process is still there
 * as often as a lost one is to be noticed, and with its usual 15 s it keeps each actor at
 * hand meanwhile and asks its database for news of it, again and again: a few hundred
 * live ones leave it no time to start others.
 */
export const FOR_CROWDS = { RIVET__PEGBOARD__ENVOY_LOST_THRESHOLD: "600000" };

/** Runs `work` for each item, some at a time. */
export async function abreast(items, work) {
  const left = items.entries();
  const worker = async () => {
    for (const [at, item] of left) await work(item, at);
  };
  await Promise.all(Array.from({ length: ABREAST }, worker));
}

/** Makes `count` actors, each of which answers that it is new; resolves to handles by id. */
export async function makeCrowd({ client, insist }, count) {
  const handles = [];
  await abreast(Array.from({ length: count }), async (_, at) => {
    const handle = client.member.getOrCreate([`member ${at}`]);
    await insist(() => handle.add());
    handles[at] = client.member.getForId(await insist(() => handle.resolve()));
  });
  return handles;
}

/** Puts actors to sleep and wakes them, `starts` times in all. */
export async function restart({ insist }, handles, starts) {
  for (let done = 0; done < starts; ) {
    const size = Math.min(BATCH, handles.length, starts - done);
    const batch = Array.from({ length: size }, (_, at) => handles[(done + at) % handles.length]);
    // The actor may be gone before its answer is.
    await abreast(batch, (handle) => handle.sleep().catch(() => {}));
    await abreast(batch, (handle) => insist(() => handle.add()));
    done += size;
  }
}

/** Calls again what the engine has refused, and counts why. */
export function insistence() {
  const refusals = {};
  const insist = async (call) => {
    for (;;) {
      try {
        return await call();
      } catch (error) {
        const name = `${error.group}.${error.code}`;
        refusals[name] = (refusals[name] ?? 0) + 1;
        await pause(100);
      }
    }
  };
  return { insist, refusals };
}

/** Processor time of a process so far; only where the system tells. */
export function cpuSeconds(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1).split(" ");
  const [user, system] = fields.slice(11);
  return (Number(user) + Number(system)) / TICKS_PER_SECOND;
}
