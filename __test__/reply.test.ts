import { describe, expect, test } from "vitest";
import { greenroom, registryOf, served, temporaryFolder } from "./fixtures/greenroom";

const { actor, db } = greenroom;

const teller = actor({
  state: { n: 0, list: {} as Record<string, unknown> },
  options: { durability: "reply" },
  db: db(),
  actions: {
    get: (c) => c.state.n,
    tell: (c) => {
      c.state.n++;
      c.broadcast("n", c.state.n);
      return c.state.n;
    },
    tellLater: async (c) => {
      c.state.n++;
      await null;
      c.requestSave();
      c.broadcast("n", c.state.n);
      c.conn.send("own", c.state.n);
      return c.state.n;
    },
    tellInside: (c, fails: boolean) =>
      c.db.transaction(
        async (tx) => {
          c.state.n++;
          c.broadcast("n", c.state.n);
          await tx.execute("select 1");
          if (fails) throw new Error("taken back");
          return c.state.n;
        },
        { includeState: true },
      ),
    /** A state that is too deep to be encoded, which is found out by a save of its own. */
    grow: async (c) => {
      let end = c.state.list;
      for (let depth = 0; depth < 200; depth++) {
        end.next = {};
        end = end.next as Record<string, unknown>;
      }
      c.state.n += 100;
      await c.saveState({ immediate: true });
    },
  },
});

describe('with durability "reply"', () => {
  test("events leave in order, whatever waits to be saved, and the actor goes on", async () => {
    const { clientIn, local } = await served({ teller });
    for (const client of [local, clientIn("bare")]) {
      const conn = client.teller.getOrCreate(`${client === local}`).connect();
      const heard: unknown[] = [];
      conn.on("n", (n: unknown) => heard.push(n));
      conn.on("own", (n: unknown) => heard.push(`own ${n}`));
      for (let turn = 0; turn < 10; turn += 2) {
        expect(await conn.tell()).toBe(turn + 1);
        expect(await conn.tellLater()).toBe(turn + 2);
      }
      // An answer leaves behind the events before it.
      expect(heard).toEqual([1, 2, "own 2", 3, 4, "own 4", 5, 6, "own 6", 7, 8, "own 8", 9, 10, "own 10"]);
      await conn.dispose();
    }
  });

  test("an event of a transaction leaves when that has been committed, and never if it is taken back", async () => {
    const { clientIn } = await served({ teller });
    const conn = clientIn().teller.getOrCreate("a").connect();
    const heard: unknown[] = [];
    conn.on("n", (n: unknown) => heard.push(n));
    expect(await conn.tellInside(false)).toBe(1);
    await expect(conn.tellInside(true)).rejects.toBeDefined();
    expect(await conn.tell()).toBe(2);
    expect(heard).toEqual([1, 2]);
    await conn.dispose();
  });

  test("a state that cannot be encoded is told to who saves it, and is not served on", async () => {
    const dataDir = temporaryFolder();
    const registry = registryOf({ teller }, { dataDir });
    const handle = registry.client().teller.getOrCreate("a");
    await handle.tell();
    await expect(handle.grow()).rejects.toBeDefined();
    // The generation that holds it ends; the next one has what is on disk.
    await expect.poll(() => handle.get().catch((error: { code: string }) => error.code), { timeout: 10_000 }).toBe(1);
    await registry.shutdown();
    expect(await registryOf({ teller }, { dataDir }).client().teller.get("a").get()).toBe(1);
  });
});
