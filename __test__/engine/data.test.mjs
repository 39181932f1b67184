// An actor's data on its way from the embedded host to an engine and back.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { actor, setup } from "greenroom";
import { engine, temporaryFolder } from "./pool.mjs";

const ledger = actor({
  state: { total: 0 },
  actions: {
    add: async (c, by) => {
      c.state.total += by;
      await c.db.execute("create table if not exists entry (by integer)");
      await c.db.execute("insert into entry values (?)", by);
      await c.saveState({ immediate: true });
      return c.state.total;
    },
    read: async (c) => {
      const rows = await c.db.execute("select by from entry order by rowid");
      return { total: c.state.total, rows: rows.map(({ by }) => by) };
    },
  },
});

test("an actor moves to an engine and back, with its state and its tables", async (t) => {
  const folder = temporaryFolder(t);
  const file = (name) => join(folder, name);
  const options = { use: { ledger }, logging: { level: "silent" } };
  const first = setup({ ...options, dataDir: file("first") });
  const second = setup({ ...options, dataDir: file("second") });
  const { endpoint } = await engine(t);
  process.env.GREENROOM_HOST = "engine";
  const joined = setup({ ...options, endpoint });
  delete process.env.GREENROOM_HOST;
  t.after(() => Promise.all([first.shutdown(), second.shutdown(), joined.shutdown()]));
  await joined.startAndWait();

  await first.client().ledger.getOrCreate(["a", "b"]).add(1);
  await first.client().ledger.getOrCreate(["a", "b"]).add(2);
  await first.export("ledger", ["a", "b"], file("out.db"));
  const id = await joined.import("ledger", ["a", "b"], file("out.db"));
  const there = joined.client().ledger.get(["a", "b"]);
  assert.equal(await there.resolve(), id);
  assert.deepEqual(await there.read(), { total: 3, rows: [1, 2] });
  assert.equal(await there.add(3), 6);

  await assert.rejects(joined.import("ledger", ["a", "b"], file("out.db")), { code: "duplicate_key" });
  await assert.rejects(joined.import("ledger", "c", file("none.db")), { code: "invalid_argument" });
  await assert.rejects(joined.client().ledger.get("c").read(), { code: "not_found" });

  await joined.export("ledger", ["a", "b"], file("back.db"));
  await second.import("ledger", ["a", "b"], file("back.db"));
  assert.deepEqual(await second.client().ledger.get(["a", "b"]).read(), { total: 6, rows: [1, 2, 3] });
});
