import { describe, expect, test } from "vitest";
import { decode, encode, event, failure, native, stage, temporaryFolder } from "./addon";

type Database = InstanceType<typeof native.JsNativeDatabase>;

const int = (intValue: number | bigint) => ({ kind: "int", intValue });
const text = (textValue: string) => ({ kind: "text", textValue });
const bytesOf = ({ buffer, byteLength }: Uint8Array | Uint32Array) => new Uint8Array(buffer, 0, byteLength);

/** An actor that runs the given functions, by name, on its context. */
async function actorWith(actions: Record<string, (ctx: any, arg: any) => unknown>, dataDir = temporaryFolder()) {
  let state = 0;
  const stored: Record<string, unknown> = {};
  for (const [name, act] of Object.entries(actions)) {
    stored[name] = async (_: unknown, { ctx, args }: any) => encode((await act(ctx, decode(args)[0])) ?? null);
  }
  return stage(
    {
      createState: async () => encode(state),
      serializeState: async () => ({ state: encode(++state), connHibernation: [], connHibernationRemoved: [] }),
      actions: stored,
    },
    {},
    dataDir,
  );
}

/** Runs `use` on the database of a fresh actor. */
async function withDatabase<T>(use: (db: Database, ctx: any) => Promise<T>): Promise<T> {
  let result: T | undefined;
  let failed: unknown;
  const { call } = await actorWith({
    use: async (ctx) => {
      try {
        result = await use(ctx.sql(), ctx);
      } catch (error) {
        failed = error;
      }
    },
  });
  await call("use");
  if (failed !== undefined) throw failed;
  return result as T;
}

describe("the published dialect", () => {
  test("has figures of the database, with the names of the published addon", async () => {
    await withDatabase(async (db) => {
      await db.execute("create table t (a)");
      const before = db.metrics();
      await db.execute("insert into t values (zeroblob(1000000))");
      // The figures of a write are there once its turn is over.
      await db.execute("select 1");
      const after = db.metrics();
      expect(after?.commitCount).toBe((before?.commitCount ?? Number.NaN) + 1);
      expect(after?.dbSizePages).toBeGreaterThanOrEqual((before?.dbSizePages ?? Number.NaN) + 244);
      expect(after?.pageCacheCapacityPages).toBe(256);
      expect(Object.keys(after ?? {}).sort()).toEqual([
        "commitCount",
        "dbSizePages",
        "pageCacheCapacityPages",
        "pageCacheEntries",
        "pageCacheWeightedSize",
        "requestBuildNs",
        "serializeNs",
        "stateUpdateNs",
        "totalNs",
        "transportNs",
        "writeBufferDirtyPages",
      ]);
    });
  });

  test("gives rows as arrays, blobs as numbers, and null for infinities", async () => {
    await withDatabase(async (db) => {
      const result = await db.execute("select null, 9007199254740991, 9007199254740992, 1.5, 9e999, 'ü', x'00ff' as b");
      expect(result.rows).toEqual([[null, 9007199254740991, 9007199254740992n, 1.5, null, "ü", [0, 255]]]);
      expect(result.columns).toEqual(["null", "9007199254740991", "9007199254740992", "1.5", "9e999", "'ü'", "b"]);
      expect([result.changes, "lastInsertRowId" in result]).toEqual([0, false]);
    });
  });

  test("takes every kind of parameter, and nothing for what is missing", async () => {
    await withDatabase(async (db) => {
      const params = [
        { kind: "null" },
        int(-5.9),
        int(2n ** 63n - 1n),
        { kind: "float", floatValue: 2 },
        text("a\0b"),
        { kind: "blob", blobValue: Buffer.from([7]) },
        { kind: "int" },
        { kind: "float" },
        { kind: "text" },
        { kind: "blob" },
      ];
      const { rows } = await db.query("select ?, ?, ?, ?, ?, ?, ?, typeof(?), ?, ?", params);
      expect(rows).toEqual([[null, -5, 2n ** 63n - 1n, 2, "a\0b", [7], 0, "real", "", []]]);
      const unknown = await failure(db.query("select ?", [{ kind: "date" }]));
      expect([unknown.group, unknown.code]).toEqual(["napi", "invalid_argument"]);
      expect(unknown.metadata).toEqual({ argument: "kind", reason: "unsupported bind param kind `date`" });
      const wide = await failure(db.query("select ?", [int(2n ** 63n)]));
      expect([wide.group, wide.code]).toEqual(["sqlite", "invalid_bind_parameter"]);
    });
  });

  test("counts changes as the connection does", async () => {
    await withDatabase(async (db) => {
      await db.exec("create table t (a integer primary key)");
      expect(await db.run("insert into t values (7), (8)")).toEqual({ changes: 2 });
      const after = await db.execute("select 1");
      expect([after.changes, after.lastInsertRowId]).toEqual([2, 8]);
      expect(await db.query("insert into t values (9) returning a")).toEqual({ columns: ["a"], rows: [[9]] });
    });
  });

  test("runs scripts, and one statement where one is asked for", async () => {
    await withDatabase(async (db) => {
      const last = await db.exec("create table t (a); insert into t values (1); select a from t; -- end");
      expect(last).toEqual({ columns: ["a"], rows: [[1]] });
      for (const method of ["execute", "query", "run"] as const) {
        const error = await failure(db[method]("select 1; select 2"));
        expect([error.group, error.code]).toEqual(["core", "internal_error"]);
        expect(error.metadata.error).toContain("only supports a single statement");
      }
    });
  });

  test("runs a batch as one", async () => {
    await withDatabase(async (db) => {
      await db.exec("create table t (a unique)");
      const results = await db.executeBatch([
        { sql: "insert into t values (?)", params: [int(1)] },
        { sql: "select count(*) from t" },
      ]);
      expect(results.map(({ rows }: any) => rows)).toEqual([[], [[1]]]);
      const twice = { sql: "insert into t values (?)", params: [int(2)] };
      const error = await failure(db.executeBatch([twice, twice]));
      expect(error.metadata.error).toContain("execute sqlite batch statement 1: ");
      expect((await db.query("select a from t")).rows).toEqual([[1]]);
    });
  });

  test("says in SQLite's words what is wrong, and which actor has it", async () => {
    await withDatabase(async (db, ctx) => {
      const error = await failure(db.execute("select * from nope"));
      expect(error.actor).toEqual({ actorId: ctx.actorId(), generation: 1, key: "a" });
      expect(error.metadata.error).toBe(
        `actor ${ctx.actorId()} generation 1 key a\n\nCaused by:\n    failed to prepare sqlite execute statement: no such table: nope`,
      );
    });
  });
});

describe("a transaction", () => {
  test("holds others up until it ends, and then is over", async () => {
    await withDatabase(async (db) => {
      await db.exec("create table t (a)");
      const tx = await db.beginTransaction(undefined, "mine");
      const outside = db.query("select count(*) from t");
      await tx.execute("insert into t values (?)", [int(1)]);
      await tx.exec("insert into t values (2); insert into t values (3)");
      await tx.commit();
      expect((await outside).rows).toEqual([[3]]);
      const error = await failure(tx.execute("select 1"));
      expect([error.group, error.code, error.metadata.state]).toEqual(["sqlite", "transaction_terminal", "committed"]);
    });
  });

  test("rolls back, also when its time is over", async () => {
    await withDatabase(async (db) => {
      await db.exec("create table t (a)");
      const tx = await db.beginTransaction();
      await tx.execute("insert into t values (1)");
      await tx.rollback();
      const late = await db.beginTransaction(20);
      await late.execute("insert into t values (1)");
      expect((await failure(db.query("select 1"))).code).toBe("transaction_expired");
      const error = await failure(late.commit());
      expect([error.group, error.code]).toEqual(["sqlite", "transaction_expired"]);
      expect((await db.query("select count(*) from t")).rows).toEqual([[0]]);
    });
  });

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e300])("is not begun with a time-out of %s", (timeout) =>
    withDatabase(async (db) => {
      const error = await failure(db.beginTransaction(timeout));
      expect([error.group, error.code, error.metadata.argument]).toEqual(["napi", "invalid_argument", "timeout"]);
    }),
  );

  test("that is open when the database closes is rolled back", async () => {
    await withDatabase(async (db) => {
      await db.exec("create table t (a)");
      const tx = await db.beginTransaction();
      await tx.execute("insert into t values (1)");
      await db.close();
      expect((await failure(tx.commit())).group).toBe("sqlite");
      expect((await db.query("select count(*) from t")).rows).toEqual([[0]]);
    });
  });
});

describe("exact values", () => {
  test("go in and come out as they are", async () => {
    await withDatabase(async (db) => {
      const values = [
        null,
        1,
        1.5,
        -(2n ** 63n),
        2n ** 53n,
        Number.POSITIVE_INFINITY,
        "a\0ü",
        new Uint8Array([0, 255]),
      ];
      const marks = values.map(() => "?").join();
      const result = await db.executeValues(`select ${marks}`, values);
      expect(result.values).toEqual(values);
      expect((await db.executeValues("select typeof(?), typeof(?), ?", [2, 2.5, 3n])).values).toEqual([
        "integer",
        "real",
        3,
      ]);
    });
  });

  test.each([[true], [undefined], [{}], [[1]], [2n ** 64n], [new Float32Array(1)]])("refuse %s", (value) =>
    withDatabase(async (db) => {
      const error = await failure((async () => db.executeValues("select 1, ?", [value]))());
      expect([error.group, error.code, error.metadata.name]).toEqual(["sqlite", "invalid_bind_parameter", "?1"]);
    }),
  );

  test("come from batches, runs, scripts and pages", async () => {
    await withDatabase(async (db) => {
      await db.scriptValues("create table t (a, b)");
      const values = Array.from({ length: 3000 }, (_, index) => [index, `row ${index}`]).flat();
      const runs = await db.repeatValues({ sql: "insert into t values (?, ?)", count: 3000, values });
      expect([runs.changes, runs.lastInsertRowId]).toEqual([3000, 3000]);
      const texts = ["select count(*), 'x' from t", "select max(a) from t where a < ?"];
      const shape = bytesOf(Uint32Array.of(0, 0, 1, 1, 1, 1));
      const batch = await db.batchValues({ texts, shape, values: [10, 20] });
      expect(batch.columns).toEqual([["count(*)", "'x'"], ["max(a)"]]);
      expect(batch.cells).toEqual([3000, "x", 9, 19]);
      expect([...new Float64Array(batch.facts.buffer)]).toEqual([
        ...[0, 2, 1, 3000],
        ...[1, 1, 1, 3000],
        ...[1, 1, 1, 3000],
      ]);
      const cursor = await db.openCursor("select a, b from t");
      expect(cursor.columns()).toEqual(["a", "b"]);
      const seen: unknown[] = [];
      for (let page = await cursor.nextPage(1000); ; page = await cursor.nextPage(1000)) {
        seen.push(...page.values);
        if (page.done) break;
      }
      expect(seen).toEqual(values);
    });
  });

  test.each([
    ["half a pair", Uint32Array.of(0), []],
    ["a text that is not there", Uint32Array.of(1, 0), []],
    ["more values than there are", Uint32Array.of(0, 2), [1]],
    ["fewer values than there are", Uint32Array.of(0, 1), [1, 2]],
    ["part of a number", Uint8Array.of(0, 0, 0), []],
  ])("a batch of %s is refused", (_, shape, values) =>
    withDatabase(async (db) => {
      const batch = { texts: ["select ?"], shape: bytesOf(shape), values };
      const error = await failure((async () => db.batchValues(batch))());
      expect([error.group, error.code]).toEqual(["napi", "invalid_argument"]);
    }),
  );

  test("a signal or a time-out stops a statement", async () => {
    await withDatabase(async (db) => {
      const endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n";
      const slow = await failure(db.executeValues(endless, [], 30));
      expect([slow.code, slow.metadata.reason]).toEqual(["interrupted", "it ran for more than 30 ms"]);
      const token = new native.CancellationToken();
      const running = failure(db.executeValues(endless, [], undefined, token));
      token.cancel();
      expect((await running).metadata.reason).toBe("its caller aborted it");
    });
  });
});

describe("a state transaction", () => {
  test("writes state and rows as one, and nothing when it is rolled back", async () => {
    const dataDir = temporaryFolder();
    const actions = {
      commit: async (ctx: any, value: string) => {
        const tx = await ctx.beginStateTransaction();
        await tx.execute("create table if not exists t (a)");
        await tx.execute("insert into t values (?)", [text(value)]);
        await tx.commit({ state: encode(value), connHibernation: [], connHibernationRemoved: [] });
      },
      rollback: async (ctx: any) => {
        const tx = await ctx.beginStateTransaction(1000);
        await tx.execute("insert into t values ('lost')");
        await tx.rollback();
        return (await failure(tx.execute("select 1"))).metadata.error;
      },
      look: async (ctx: any) => [
        decode(ctx.state()),
        (await ctx.sql().query("select group_concat(a) from t")).rows[0][0],
      ],
    };
    const first = await actorWith(actions, dataDir);
    await first.call("commit", "one");
    expect(await first.call("rollback")).toContain("actor state transaction is already finalized");
    expect(await first.call("look")).toEqual(["one", "one"]);
  });

  test("refuses to be ended by a statement", async () => {
    await withDatabase(async (_, ctx) => {
      const tx = await ctx.beginStateTransaction();
      for (const sql of ["commit", "/* x */ END", "rollback"]) {
        expect((await failure(tx.execute(sql))).metadata.error).toContain("terminators");
      }
      await tx.execute("savepoint a");
      await tx.execute("rollback to a");
      await tx.rollback();
    });
  });

  test("holds up saves until it has ended", async () => {
    const ended = event();
    let saved = false;
    const { call } = await actorWith({
      use: async (ctx) => {
        const tx = await ctx.beginStateTransaction();
        const save = ctx.requestSaveAndWait({ immediate: true }).then(() => (saved = true));
        await tx.execute("select 1");
        const early = saved;
        await tx.commit({ connHibernation: [], connHibernationRemoved: [] });
        await save;
        ended.happen();
        return early;
      },
    });
    expect(await call("use")).toBe(false);
    await ended.promise;
    expect(saved).toBe(true);
  });
});
