// What is known of one actor from outside, and what its book must therefore hold.

import assert from "node:assert/strict";

/** Numbers that depend on the seed alone (mulberry32). */
export function seeded(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    /** At least 0, below 1. */
    next,
    /** A whole number below `end`. */
    below: (end) => Math.floor(next() * end),
    chance: (probability) => next() < probability,
    pick: (list) => list[Math.floor(next() * list.length)],
  };
}

/** Where a kind of call leaves its id. */
const PLACES = {
  save: ["done"],
  rows: ["debit", "credit"],
  both: ["done", "debit", "credit"],
  fail: [],
};
export const KINDS = Object.keys(PLACES);

/** One actor, from creation to destruction, as its callers know it. */
class Life {
  /** id → kind, of every call that was sent. */
  sent = new Map();
  /** Ids of calls that were answered as done. */
  answered = new Set();
  actorId;

  check(report, facts) {
    const places = Object.fromEntries(["done", "debit", "credit"].map((place) => [place, new Set(report[place])]));
    for (const [place, found] of Object.entries(places)) {
      assert.equal(found.size, report[place].length, `${place} holds an id twice: ${facts}`);
      for (const id of found) {
        const kind = this.sent.get(id);
        assert.ok(PLACES[kind]?.includes(place), `${place} holds ${id}, which was ${kind ?? "never sent"}: ${facts}`);
      }
    }
    for (const [id, kind] of this.sent) {
      const [first, ...others] = PLACES[kind].map((place) => places[place].has(id));
      if (this.answered.has(id)) assert.ok(first ?? true, `the answered ${kind} ${id} is missing: ${facts}`);
      for (const other of others) assert.equal(other, first, `${kind} ${id} is there by half: ${facts}`);
    }
  }
}

/** One key over the lives of the actors it names. */
export class Known {
  #life = new Life();
  /** Ids of actors that are destroyed for certain. */
  #gone = new Set();
  /** A destroy was sent and not answered: the life may be over. */
  #mayBeGone = false;

  constructor(name, key) {
    this.name = name;
    this.key = key;
  }

  get size() {
    return this.#life.sent.size;
  }

  sending(id, kind) {
    this.#life.sent.set(id, kind);
  }

  answered(id) {
    this.#life.answered.add(id);
  }

  /** Told that nothing was done. */
  refused(id) {
    this.#life.sent.set(id, "fail");
  }

  destroying() {
    this.#mayBeGone = true;
  }

  destroyed(actorId) {
    this.#gone.add(actorId);
    this.#life = new Life();
    this.#mayBeGone = false;
  }

  /** Holds a report against what is known; throws if they differ. */
  check(report, round) {
    const facts = `${this.name}/${this.key} (${report.actorId}) after round ${round}`;
    assert.ok(!this.#gone.has(report.actorId), `a destroyed actor is back: ${facts}`);
    const before = this.#life.actorId;
    if (this.#mayBeGone && before !== undefined && report.actorId !== before) this.destroyed(before);
    this.#mayBeGone = false;
    const life = this.#life;
    life.actorId ??= report.actorId;
    assert.equal(report.actorId, life.actorId, `the key leads to another actor: ${facts}`);
    life.check(report, facts);
    // What is there now was done; what is not there will not come any more.
    for (const place of ["done", "debit"]) for (const id of report[place]) life.answered.add(id);
    for (const id of [...life.sent.keys()]) if (!life.answered.has(id)) life.sent.delete(id);
  }
}
