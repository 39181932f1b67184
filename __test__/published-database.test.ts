import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { greenroom, registryOf } from "./fixtures/greenroom";

const { actor, db, queue } = greenroom;

/**
 * Made by the published package 2.3.19 on its own addon and engine: an actor with
 * state, a table, two queue messages, a one-shot schedule for the year 2100, a cron
 * job and a KV pair, copied by `VACUUM INTO` through the actor's own connection.
 */
const FILE = join(__dirname, "fixtures", "published-2.3.19.db");

const shop = actor({
  state: { count: 0, names: [] as string[] },
  queues: { jobs: queue<{ n: number }>() },
  db: db({ onMigrate: async (tx) => void (await tx.execute("create table if not exists item (id integer)")) }),
  actions: {
    state: (c) => ({ ...c.state, names: [...c.state.names] }),
    add: async (c) => {
      c.state.count++;
      await c.db.run`insert into item (name, amount) values (${"item 51"}, ${1.5})`;
      await c.saveState({ immediate: true });
    },
    item: (c, id: number) => c.db.get`select * from item where id = ${id}`,
    items: async (c) => (await c.db.get("select count(*) as n from item"))?.n,
    byName: async (c, name: string) => (await c.db.get`select id from item where name = ${name}`)?.id,
    check: (c) => c.db.query("pragma integrity_check"),
    jobs: async (c) => (await c.queue.nextBatch({ count: 10, timeout: 0 })).map(({ name, body }) => [name, body]),
    later: async (c) => (await c.schedule.list()).map(({ action, args, runAt }) => [action, args, runAt]),
    daily: (c) => c.cron.get("daily"),
    pair: (c) => c.kv.get("key"),
    nap: (c) => c.sleep(),
    ring: () => {},
  },
});

describe("a database that the published package made", () => {
  test("becomes an actor with all that was in it", async () => {
    const registry = registryOf({ shop });
    await registry.import("shop", "theirs", FILE);
    const handle = registry.client().shop.get("theirs");
    expect(await handle.state()).toEqual({ count: 7, names: ["one", "two"] });
    expect(await handle.items()).toBe(50);
    expect(await handle.item(3)).toEqual({
      id: 3,
      name: "item 3 äöü",
      amount: 3 / 7,
      body: new Uint8Array([3, 0, 255]),
      big: 9007199254740996n,
    });
    expect(await handle.byName("item 50 äöü")).toBe(50);
    expect(await handle.later()).toEqual([["ring", ["later"], Date.UTC(2100, 0, 1)]]);
    expect(await handle.daily()).toMatchObject({ expression: "0 3 * * *", timezone: "Europe/Berlin", action: "ring" });
    expect(await handle.pair()).toEqual("value");
    expect(await handle.jobs()).toEqual([
      ["jobs", { n: 1 }],
      ["jobs", { n: 2 }],
    ]);
    expect(await handle.check()).toEqual([{ integrity_check: "ok" }]);
  });

  test("goes on as a database of ours, and comes back from sleep with both", async () => {
    const registry = registryOf({ shop });
    await registry.import("shop", "theirs", FILE);
    const handle = registry.client().shop.get("theirs");
    await handle.add();
    await handle.nap();
    await expect.poll(async () => await handle.items(), { timeout: 10_000 }).toBe(51);
    expect(await handle.state()).toEqual({ count: 8, names: ["one", "two"] });
    expect(await handle.byName("item 51")).toBe(51);
  });
});
