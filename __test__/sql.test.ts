import { describe, expect, test } from "vitest";
import { event, greenroom, registryOf, temporaryFolder } from "./fixtures/greenroom";

const { actor, db, sql } = greenroom;

const notes = db({
  onMigrate: async (tx) => {
    await tx.execute("create table if not exists note (id integer primary key, text text, at real, data blob)");
  },
});

/** Runs `use` inside an action of a fresh actor with the table `note`. */
async function inside<T>(use: (c: any) => Promise<T>, options: Record<string, unknown> = {}): Promise<T> {
  let outcome: { value: T } | { error: unknown } | undefined;
  const subject = actor({
    state: { count: 0 },
    db: notes,
    actions: {
      use: async (c: unknown) => {
        try {
          outcome = { value: await use(c) };
        } catch (error) {
          outcome = { error };
        }
      },
    },
    ...options,
  } as any);
  const client = registryOf({ subject } as any).client() as any;
  await client.subject.getOrCreate("a").use();
  if (outcome === undefined) throw new Error("the action did not run");
  if ("error" in outcome) throw outcome.error;
  return outcome.value;
}

const numbers = (rows: number) =>
  `with recursive n(i) as (select 1 union all select i + 1 from n limit ${rows}) select i from n`;
const ENDLESS = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n";

describe("statements", () => {
  test("are plain text with values, named values, or tagged templates", () =>
    inside(async (c) => {
      const data = new Uint8Array([0, 255]);
      expect(await c.db.run("insert into note values (?, ?, ?, ?)", 1, "one", 1.5, data)).toEqual({
        changes: 1,
        lastInsertRowId: 1,
      });
      await c.db.execute("insert into note (id, text) values (:id, $text)", { id: 2, text: "two" });
      const id = 2n ** 53n + 1n;
      await c.db.execute`insert into note (id, text) values (${id}, ${"it's"})`;
      expect(await c.db.query`select * from note where id in (${1}, ${id})`).toEqual([
        { id: 1, text: "one", at: 1.5, data },
        { id, text: "it's", at: null, data: null },
      ]);
      expect(await c.db.get("select text from note where id = ?", 2)).toEqual({ text: "two" });
      expect(await c.db.get(sql`select text from note where id = ${3}`)).toBe(undefined);
      expect(await c.db.execute("select 1 as a; select 2 as b; -- end")).toEqual([{ b: 2 }]);
    }));

  test("may give a column any name", () =>
    inside(async (c) => {
      const rows = await c.db.query("select count(*) as n, '__proto__' as __proto__ from note");
      expect(rows[0].n).toBe(0);
      expect(Object.keys(rows[0])).toEqual(["n", "__proto__"]);
    }));

  test("say in SQLite's words what is wrong, and keep the rest in metadata", () =>
    inside(async (c) => {
      await c.db.run("insert into note (id) values (1)");
      await expect(c.db.run("insert into note (id) values (1)")).rejects.toMatchObject({
        group: "core",
        code: "internal_error",
        message: "failed to run sqlite execute statement: UNIQUE constraint failed: note.id",
        metadata: { sqlite: { code: "SQLITE_CONSTRAINT_PRIMARYKEY" } },
        actor: { key: "a" },
      });
      await expect(c.db.query("select 1; select 2", 5)).rejects.toThrow("only supports a single statement");
      await expect(c.db.query("select ?", true)).rejects.toMatchObject({ code: "invalid_bind_parameter" });
      await expect(c.db.query("select ?, ?", 1)).rejects.toMatchObject({ code: "invalid_bind_parameter" });
    }));

  test("refuse arguments of other kinds, whichever method they are given to", () =>
    inside(async (c) => {
      const refusal = { group: "napi", code: "invalid_argument" };
      for (const wrong of [undefined, null, 7, {}, []]) {
        for (const method of ["query", "execute", "get", "run", "executeMany"]) {
          await expect(c.db[method](wrong, [])).rejects.toMatchObject(refusal);
        }
        await expect(c.db.iterate(wrong).next()).rejects.toMatchObject(refusal);
        await expect(c.db.batch([wrong])).rejects.toMatchObject(refusal);
      }
      for (const wrong of [undefined, null, 7, "select 1", {}]) {
        await expect(c.db.batch(wrong)).rejects.toMatchObject(refusal);
      }
      await expect(c.db.batch([{ sql: "select 1", params: 7 }])).rejects.toMatchObject(refusal);
      await expect(c.db.executeMany("select ?", undefined)).rejects.toMatchObject(refusal);
      await expect(c.db.executeMany("select ?", [1])).rejects.toMatchObject(refusal);
      expect(await c.db.get("select 1 as one")).toEqual({ one: 1 });
    }));

  test("may be started by the thousand at once, and run in their order", () =>
    inside(async (c) => {
      const inserts = Array.from({ length: 2000 }, (_, index) => c.db.run`insert into note (text) values (${index})`);
      const ids = (await Promise.all(inserts)).map((result: any) => result.lastInsertRowId);
      expect(ids).toEqual(Array.from({ length: 2000 }, (_, index) => index + 1));
    }));

  test("come in batches and with many rows, all of them or none", () =>
    inside(async (c) => {
      const results = await c.db.batch([
        sql`insert into note (text) values (${"a"}), (${"b"})`,
        { sql: "select text from note where id = ?", params: [2] },
      ]);
      expect(results).toEqual([
        { rows: [], changes: 2, lastInsertRowId: 2 },
        { rows: [{ text: "b" }], changes: 2, lastInsertRowId: 2 },
      ]);
      const rows = Array.from({ length: 10_000 }, (_, index) => [index + 10, `row ${index}`]);
      const many = await c.db.executeMany("insert into note (id, text) values (?, ?)", rows);
      expect(many).toEqual({ changes: 10_000, lastInsertRowId: 10_009 });
      await expect(c.db.executeMany("insert into note (id) values (?)", [[5], [10]])).rejects.toThrow("UNIQUE");
      expect(await c.db.get("select count(*) as n from note")).toEqual({ n: 10_002 });
      const uneven = [[20_000], [20_001, "x", 20_002]];
      await expect(c.db.executeMany("insert into note (id, text) values (?, ?)", uneven)).rejects.toMatchObject({
        code: "invalid_bind_parameter",
        message: expect.stringContaining("row 1 has 3 values"),
      });
      expect(await c.db.get("select count(*) as n from note")).toEqual({ n: 10_002 });
    }));
});

describe("iteration", () => {
  test("reads a result page by page, as it was when it was opened", () =>
    inside(async (c) => {
      await c.db.execute(`insert into note (id) ${numbers(5000)}`);
      let next = 1;
      for await (const { id } of c.db.iterate("select id from note order by id")) {
        expect(id).toBe(next++);
        if (id === 100) await c.db.run("delete from note where id > 200");
      }
      expect(next).toBe(5001);
      expect(await c.db.get`select count(*) as n from note`).toEqual({ n: 200 });
    }));

  test("lets go of a result that is left early", () =>
    inside(async (c) => {
      for (let round = 0; round < 40; round++) {
        for await (const row of c.db.iterate(numbers(3000))) {
          if (row.i === 2) break;
        }
      }
    }));

  test("needs little memory for a large result", () =>
    inside(async (c) => {
      const before = process.memoryUsage().rss;
      let bytes = 0;
      const wide = `with recursive n(i) as (select 1 union all select i + 1 from n limit 300) select zeroblob(1000000) as b from n`;
      for await (const { b } of c.db.iterate(wide)) bytes += b.length;
      expect(bytes).toBe(300_000_000);
      expect(process.memoryUsage().rss - before).toBeLessThan(150_000_000);
    }));
});

describe("transactions", () => {
  test("commit when they return and leave nothing when they throw", () =>
    inside(async (c) => {
      const result = await c.db.transaction(async (tx: any) => {
        await tx.run("insert into note (text) values ('kept')");
        return (await tx.get("select count(*) as n from note")).n;
      });
      expect(result).toBe(1);
      const failed = c.db.transaction(async (tx: any) => {
        await tx.executeMany("insert into note (text) values (?)", [["a"], ["b"]]);
        throw new Error("no");
      });
      await expect(failed).rejects.toThrow("no");
      expect(await c.db.query("select text from note")).toEqual([{ text: "kept" }]);
    }));

  test("keep other statements out until they end", () =>
    inside(async (c) => {
      let outside: Promise<unknown> | undefined;
      await c.db.transaction(async (tx: any) => {
        outside = c.db.get("select count(*) as n from note");
        await tx.run("insert into note (text) values ('a')");
        await tx.run("insert into note (text) values ('b')");
      });
      expect(await outside).toEqual({ n: 2 });
    }));

  test("do not nest, and are not ended by statements", () =>
    inside(async (c) => {
      await c.db.transaction(async (tx: any) => {
        await expect(tx.transaction(() => 0)).rejects.toMatchObject({ code: "transaction_active" });
        await expect(tx.run("commit")).rejects.toMatchObject({ group: "sqlite", code: "forbidden" });
        await tx.run("savepoint a");
        await tx.run("insert into note (text) values ('x')");
        await tx.run("rollback to a");
      });
      expect(await c.db.query("select * from note")).toEqual([]);
    }));

  test("that take too long are rolled back, and who waited hears of it", () =>
    inside(async (c) => {
      const never = event();
      const began = event();
      const late = c.db.transaction(
        async (tx: any) => {
          await tx.run("insert into note (text) values ('x')");
          began.happen();
          await never.promise;
        },
        { timeout: 50 },
      );
      await began.promise;
      await expect(c.db.query("select 1")).rejects.toMatchObject({ code: "transaction_expired" });
      never.happen();
      await expect(late).rejects.toMatchObject({ code: "transaction_expired" });
      expect(await c.db.query("select * from note")).toEqual([]);
    }));

  test("that take too long with one statement have it stopped", () =>
    inside(async (c) => {
      const failed = c.db.transaction(
        async (tx: any) => {
          await tx.run("insert into note (text) values ('slow')");
          await tx.query(ENDLESS);
        },
        { timeout: 100 },
      );
      await expect(failed).rejects.toMatchObject({ code: "transaction_expired" });
      expect(await c.db.get("select count(*) as n from note")).toEqual({ n: 0 });
    }));

  test("that are open when the actor sleeps are rolled back", async () => {
    const dataDir = temporaryFolder();
    const subject = () =>
      actor({
        db: notes,
        actions: {
          leave: async (c) => {
            await c.db.run("insert into note (text) values ('kept')");
            await c.db.run("begin");
            await c.db.run("insert into note (text) values ('lost')");
          },
          read: (c) => c.db.query("select text from note"),
        },
      });
    const first = registryOf({ subject: subject() }, { dataDir });
    await first.client().subject.getOrCreate("a").leave();
    await first.shutdown();
    const second = registryOf({ subject: subject() }, { dataDir });
    expect(await second.client().subject.getOrCreate("a").read()).toEqual([{ text: "kept" }]);
  });
});

describe("limits", () => {
  test("stop a statement by time, and by a signal", () =>
    inside(async (c) => {
      await expect(c.db.with({ timeout: 30 }).query(ENDLESS)).rejects.toMatchObject({
        code: "interrupted",
        message: expect.stringContaining("it ran for more than 30 ms"),
      });
      const controller = new AbortController();
      const running = c.db.with({ signal: controller.signal }).query(ENDLESS);
      controller.abort();
      await expect(running).rejects.toMatchObject({ code: "interrupted" });
      await expect(c.db.with({ signal: AbortSignal.abort() }).query("select 1")).rejects.toMatchObject({
        code: "interrupted",
      });
      expect(await c.db.get("select 1 as one")).toEqual({ one: 1 });
    }));

  test.each([
    ["attach 'x.db' as x", "ATTACH is not available"],
    ["vacuum into 'x.db'", "VACUUM INTO"],
    ["select load_extension('x')", "load_extension"],
    ["pragma journal_mode = off", "write-ahead log"],
    ["pragma synchronous = off", "must be on disk"],
    ["pragma writable_schema = 1", "not available"],
    ["delete from _rivet_actor_state", "_rivet_"],
    ["create table _rivet_mine (a)", "reserved"],
    ["alter table note rename to _rivet_note", "reserved"],
    ["create trigger x after insert on note begin delete from _rivet_actor; end", "_rivet_"],
  ])("refuse %s", (statement, reason) =>
    inside(async (c) => {
      const failed = c.db.execute(statement).then(() => c.db.run("insert into note (text) values ('x')"));
      await expect(failed).rejects.toMatchObject({ group: "sqlite", code: "forbidden" });
      await expect(failed).rejects.toThrow(reason);
    }),
  );

  test("bound a single value, and say so", () =>
    inside(async (c) => {
      await expect(c.db.query("select length(zeroblob(300000000))")).rejects.toMatchObject({
        message: expect.stringContaining("string or blob too big"),
        metadata: { sqlite: { code: "SQLITE_TOOBIG" } },
      });
      for (const bytes of [256 * 1024 * 1024 + 1, 2 ** 31]) {
        const before = process.memoryUsage().rss;
        await expect(c.db.query("select length(?)", new Uint8Array(bytes))).rejects.toMatchObject({
          code: "invalid_bind_parameter",
          message: expect.stringContaining(`it has ${bytes} bytes, the limit is 268435456`),
        });
        // Refused for its size, before it is copied.
        expect(process.memoryUsage().rss - before).toBeLessThan(200_000_000);
      }
      await expect(c.db.query("select length(?)", "x".repeat(256 * 1024 * 1024 + 1))).rejects.toMatchObject({
        code: "invalid_bind_parameter",
      });
    }));

  test("let reserved tables be read, and the workflow's be written", () =>
    inside(async (c) => {
      expect(await c.db.query("select count(*) as n from _rivet_meta")).toEqual([{ n: expect.any(Number) }]);
      await c.db.run("insert into _rivet_wf_kv (key, value) values (?, ?)", new Uint8Array([1]), new Uint8Array([2]));
    }));
});

describe("what SQLite can do", () => {
  test.each([
    [
      "full-text search",
      "create virtual table d using fts5(t); insert into d values ('a quick fox'); select count(*) as x from d where d match 'quick'",
      1,
    ],
    ["JSON", `select json_extract('{"a":[1,2]}', '$.a[1]') as x`, 2],
    [
      "window functions",
      "select sum(i) over (order by i) as x from (select 1 as i union select 2) order by i desc limit 1",
      3,
    ],
    ["generated columns", "create table g (a, b as (a * 2) stored); insert into g values (4); select b as x from g", 8],
    [
      "upserts",
      "create table u (a primary key, n default 1); insert into u(a) values (1); insert into u(a) values (1) on conflict do update set n = n + 1; select n as x from u",
      2,
    ],
    ["returning", "create table r (a); insert into r values (7) returning a + 1 as x", 8],
    ["mathematics", "select cast(pow(2, 10) as integer) as x", 1024],
    [
      "r-trees",
      "create virtual table rt using rtree(id, lo, hi); insert into rt values (1, 0, 5); select count(*) as x from rt where lo <= 1",
      1,
    ],
  ])("has %s", (_, script, expected) =>
    inside(async (c) => expect(await c.db.execute(script)).toEqual([{ x: expected }])),
  );
});
