// Actors that go from the published package's own addon to ours and back, in one pool
// of an engine: whatever either of them has stored, the other one finds and uses.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createClient } from "rivetkit/client";
import { engine, eventually } from "../../__test__/engine/pool.mjs";
import { HASTY } from "../lib/host.mjs";
import { afterKillOnEngine } from "../lib/suite.mjs";
import { KINDS } from "./kinds.mjs";
import { startSide } from "./sides.mjs";

const PROGRAM = new URL("interchange-program.mjs", import.meta.url);

/** Both addons take over from one another, and from one that is killed. */
const ORDERS = [
  ["genuine", "ours", "genuine", "ours"],
  ["ours", "genuine", "ours"],
];

for (const order of ORDERS) {
  test(`actors go from ${order.join(" to ")}`, async (t) => {
    const { endpoint } = await engine(t, HASTY);
    const client = createClient({ endpoint, disableMetadataLookup: true });
    const actors = Object.entries(KINDS).map(([title, kind]) => {
      const name = kind.actor ?? title;
      const key = [title, order[0]];
      const handle = kind.open?.(client, key) ?? client[name].getOrCreate(key);
      return { title, kind, context: { handle, key, name, memory: {}, endpoint } };
    });

    try {
      let since; // when the program before had ended
      for (const [round, side] of order.entries()) {
        const program = await startSide(t, side, PROGRAM, endpoint);
        for (const { title, kind, context } of actors) {
          const now = { ...context, round, side, since, awake: () => awake(endpoint, context) };
          // The others are called when the engine has noticed, then.
          if (title === "state" && round > 0) await afterKillOnEngine(() => context.handle.kept());
          if (round > 0) await t.test(`${title}: ${order[round - 1]} to ${side}`, () => kind.check(now));
          await t.test(`${title}: written by ${side}`, () => kind.write(now));
        }
        if (round % 2 === 0) await program.stop();
        else await program.kill();
        since = Date.now();
      }
    } finally {
      // While the engine lives: it answers the goodbye of connections.
      await client.dispose();
    }
  });
}

/** Waits until the engine says that the actor runs, without asking the actor. */
const awake = (endpoint, { name, key }) =>
  eventually("the actor is awake", async () => {
    const query = `namespace=default&name=${name}&key=${encodeURIComponent(key.join("/"))}`;
    const { actors } = await (await fetch(`${endpoint}/actors?${query}`)).json();
    assert.equal(actors.length, 1);
    return actors[0].connectable_ts && !actors[0].sleep_ts;
  });
