// Each kind of data that an actor stores: how a round adds to it, and how what all
// rounds before have added is checked. Rounds are numbered from 0.

import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { until } from "../lib/connection.mjs";
import { inspectorToken } from "../lib/inspector.mjs";

const rounds = (count) => Array.from({ length: count }, (_, n) => n);
const HOUR = 3_600_000;

/** `open` gives the handle of the kind's own actor; whatever else a kind remembers is in `memory`. */
export const KINDS = {
  state: {
    open: (client, key) => client.state.getOrCreate(key, { createWithInput: { made: "with", bytes: [1n, null] } }),
    write: ({ handle, round }) => handle.write(round),
    async check({ handle, round, key }) {
      const kept = await handle.kept();
      assert.deepEqual(kept.key, key);
      assert.equal(kept.input, '{bytes: [bigint 1; null]; made: "with"}');
      assert.equal(kept.created, 2, "it was created once, by one process");
      assert.deepEqual(kept.entries, await handle.expected(round));
    },
  },

  tables: {
    write: ({ handle, round }) => handle.write(round),
    async check({ handle, round }) {
      const kept = await handle.kept();
      assert.deepEqual(kept.entries, await handle.expected(round));
      assert.deepEqual(
        kept.shouts,
        rounds(round).map((n) => `TäXT ${n}`),
      );
      assert.equal(kept.counted, round);
      assert.deepEqual(
        kept.pages,
        rounds(round).map((n) => ({ n, count: 20, bytes: 400_000 })),
      );
      assert.deepEqual(kept.check, [{ integrity_check: "ok" }]);
      const schema = ["table entry", "index entry_text", "table page", "view shout", "table tally"];
      assert.deepEqual(kept.schema, ["trigger counted", ...schema]);
    },
  },

  keys: {
    write: ({ handle, round }) => handle.write(round),
    async check({ handle, round }) {
      assert.deepEqual(await handle.kept(round), {
        kept: rounds(round).map((n) => [`kept ${n}`, `value ${n}`]),
        many: [[`many ${round - 1} b`, "b"]],
        last: `${round - 1}`,
        binary: rounds(round).map((n) => [n, 0]),
      });
    },
  },

  queues: {
    actor: "mailbox",
    async write({ handle, round }) {
      // Some from a client and some from the actor itself, two names in turn.
      for (const n of [0, 1, 2]) {
        await handle.send("letters", { round, n, at: new Date(n), bytes: new Uint8Array([n]) });
        await handle.post("parcels", [round, n, "x".repeat(30_000)]);
      }
      await handle.send("jobs", round);
      assert.equal(await handle.begin(), round, "a job that is begun is the first one");
    },
    async check({ handle, round }) {
      const letter = (n) => ({ round: round - 1, n, at: new Date(n), bytes: new Uint8Array([n]) });
      assert.deepEqual(await handle.take("letters"), [0, 1, 2].map(letter));
      const parcels = [0, 1, 2].map((n) => [round - 1, n, "x".repeat(30_000)]);
      assert.deepEqual(await handle.take("parcels"), parcels);
      assert.equal(await handle.finish(), round - 1, "a job without an answer comes again");
      assert.equal(await handle.finish(), undefined, "and not twice");
    },
  },

  workflow: {
    actor: "flow",
    async write({ handle, round, side, memory }) {
      const begun = round === 0 ? [[side, "begun"]] : memory.log;
      await handle.send("go", round);
      memory.log = [...begun, [side, `round ${round} after begun 2`]];
      await until(
        "the workflow has come further",
        () => handle.log(),
        (log) => log.length === memory.log.length,
      );
      // Its place in the journal is saved after the step; the state was saved with it.
      await pause(300);
    },
    check: async ({ handle, memory }) => assert.deepEqual(await handle.log(), memory.log),
  },

  connection: {
    actor: "room",
    async write({ handle, side, memory }) {
      if (!memory.connection) {
        memory.connection = handle.connect({ name: "Ada" });
        memory.heard = [];
        memory.closed = 0;
        memory.connection.on("said", (by, count) => memory.heard.push([by, count]));
        memory.connection.onClose(() => memory.closed++);
        memory.said = 0;
      }
      const answer = await memory.connection.say();
      memory.said++;
      memory.id ??= answer.id;
      assert.deepEqual(answer, { name: "Ada", said: memory.said, id: memory.id, all: memory.said, guests: 1 });
      await until(
        "its event has come",
        () => memory.heard,
        (heard) => isDeepStrictEqual(heard.at(-1), [side, memory.said]),
      );
      assert.equal(memory.closed, 0, "the client notices nothing");
    },
    // Wakes the actor, and the connection with it.
    check: async ({ handle, memory }) => assert.equal(await handle.total(), memory.said),
  },

  inspector: {
    actor: "keys",
    async write({ handle, endpoint, memory }) {
      await handle.write(0);
      memory.token ??= await inspectorToken(endpoint, await handle.resolve());
    },
    async check({ handle, endpoint, memory }) {
      await handle.kept(0);
      const id = await handle.resolve();
      assert.equal(await inspectorToken(endpoint, id), memory.token);
      const look = (token) =>
        fetch(`${endpoint}/gateway/${id}/inspector/summary`, { headers: { authorization: `Bearer ${token}` } });
      const allowed = await look(memory.token);
      assert.equal(allowed.status, 200, await allowed.text());
      const refused = await look("another");
      assert.equal(refused.status, 401, await refused.text());
    },
  },

  schedules: {
    actor: "clock",
    async write({ handle, round, side, memory }) {
      const time = Date.now() + HOUR;
      const id = await handle.at(time, "late", round);
      memory.late = [...(memory.late ?? []), { id, action: "fire", args: ["late", round], runAt: time }];
      memory.dropped = await handle.after(HOUR, "never", round);
      await handle.daily(`daily ${round}`, "daily", round);
      await handle.every(`often ${round}`, "often", round);
      await until(
        "the first of many has fired",
        () => handle.fired(),
        (fired) => fired.some(([by, what, n]) => by === side && what === "often" && n === round),
      );
      memory.history = await until(
        "its end is written down",
        async () => (await handle.history(`often ${round}`)).filter(({ result }) => result !== "running"),
        (history) => history.length >= 1,
      );
      memory.jobs = (await handle.jobs()).filter(({ name }) => name.startsWith("daily"));
      // Due when nobody serves the actor, unless the machine is busy.
      memory.due = Date.now() + 4_000;
      await handle.at(memory.due, "due", round);
    },
    async check({ handle, round, side, memory, awake, since }) {
      await awake();
      const wasLeft = since < memory.due;
      await until(
        "what was due meanwhile has fired",
        () => handle.fired(),
        (fired) => fired.some(([by, what, n]) => what === "due" && n === round - 1 && (by === side || !wasLeft)),
      );
      const fired = (await handle.fired()).filter(([, what]) => what === "due");
      assert.equal(fired.length, round, "each of them once");
      assert.equal(await handle.cancel(memory.dropped), true);
      assert.deepEqual(byTime(await handle.list()), byTime(memory.late));
      const jobs = await handle.jobs();
      assert.deepEqual(
        jobs.filter(({ name }) => name.startsWith("daily")),
        memory.jobs,
      );
      const history = await handle.history(`often ${round - 1}`);
      for (const entry of memory.history) {
        assert(
          history.some((one) => isDeepStrictEqual(one, entry)),
          `${JSON.stringify(entry)} among ${JSON.stringify(history)}`,
        );
      }
      await handle.drop(`often ${round - 1}`);
      assert.equal((await handle.jobs()).filter(({ name }) => name.startsWith("often")).length, 0);
    },
  },
};

const byTime = (list) => [...list].sort((a, b) => a.runAt - b.runAt || (a.id < b.id ? -1 : 1));
