// What a bystander can learn of a running host, for tests and figures.

import { setTimeout as delay } from "node:timers/promises";

/** The management API's entry of one actor, or undefined. */
export async function actorEntry(url, id) {
  const answer = await fetch(`${url}/actors?namespace=default&actor_ids=${id}`);
  const { actors } = await answer.json();
  return actors[0];
}

/** Resolves when the host lists the actor as sleeping. */
export async function whenAsleep(url, id) {
  while (!(await actorEntry(url, id))?.sleep_ts) await delay(1);
}
