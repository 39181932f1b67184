import { describe, expect, test } from "vitest";
import { bindingsOf, bindParams } from "../../ts/db/bindings";
import { db } from "../../ts/db/raw-access";
import { sql } from "../../ts/db/template";
import { Turnstile } from "../../ts/db/turnstile";
import { ActorError } from "../../ts/errors/actor-error";
import { rig } from "../fixtures/fake-native";

describe("SQL bindings", () => {
  test("are positional, or named in order of first appearance outside of literals", () => {
    const sql = "select ':no', \"@no\", :b /* $no */, @a -- :no\n, :b, $c";
    expect(bindParams(sql, { b: 1, "@a": "x", c: null })).toEqual([1, "x", null]);
    expect(bindParams("?, ?", [1.5, 2n])).toEqual([1.5, 2n]);
    expect(bindParams("?", [new Uint8Array([1])])).toEqual([new Uint8Array([1])]);
  });

  test.each([
    ["a boolean", "?", [true]],
    ["undefined", "?", [undefined]],
    ["an object", "?", [{}]],
    ["a missing name", ":a", {}],
  ])("refuse %s", (_, sql, bindings) => {
    expect(() => bindParams(sql, bindings)).toThrow(expect.objectContaining({ code: "invalid_bind_parameter" }));
  });

  test("take one plain object as names and everything else as positions", () => {
    expect(bindingsOf([])).toBe(undefined);
    expect(bindingsOf([{ a: 1 }])).toEqual({ a: 1 });
    expect(bindingsOf([new Uint8Array(1)])).toEqual([new Uint8Array(1)]);
    expect(bindingsOf([{ a: 1 }, 2])).toEqual([{ a: 1 }, 2]);
  });
});

describe("c.db", () => {
  const transactions = () => {
    const log: string[] = [];
    const run = (prefix: string) => async (sql: string) => (
      log.push(prefix + sql), { columns: ["n"], values: [1], changes: 0, lastInsertRowId: null }
    );
    const native = {
      executeValues: run(""),
      scriptValues: run("script:"),
      beginTransaction: async (timeout: unknown, name: unknown) => {
        log.push(`begin ${timeout} ${name}`);
        return {
          executeValues: run("tx:"),
          scriptValues: run("tx-script:"),
          commit: async () => void log.push("commit"),
          rollback: async () => void log.push("rollback"),
        };
      },
      takeLastKvError: () => null,
      close: async () => void log.push("close"),
    };
    return { log, native };
  };

  test("returns rows as objects and runs scripts", async () => {
    const { log, native } = transactions();
    const fixture = rig({ actions: { q: (c: any) => c.db.execute("select 1"), s: (c: any) => c.db.execute("a; b") } });
    fixture.ctx.services.sql = native;
    expect([await fixture.action("q"), await fixture.action("s")]).toEqual([[{ n: 1 }], [{ n: 1 }]]);
    expect(log).toEqual(["select 1", "script:a; b"]);
  });

  test("commits a transaction that returns and rolls back one that throws", async () => {
    const { log, native } = transactions();
    const fixture = rig({
      actions: {
        good: (c: any) => c.db.transaction((tx: any) => tx.execute("insert"), { timeout: 5, name: "t" }),
        bad: (c: any) =>
          c.db.transaction(() => {
            throw new ActorError("user", "no", "no");
          }),
        nested: (c: any) => c.db.transaction((tx: any) => tx.transaction(() => 0)),
      },
    });
    fixture.ctx.services.sql = native;
    expect(await fixture.action("good")).toEqual([{ n: 1 }]);
    await expect(fixture.action("bad")).rejects.toMatchObject({ code: "no" });
    await expect(fixture.action("nested")).rejects.toThrow("transactions do not nest");
    expect(log).toEqual([
      "begin 5 t",
      "tx:insert",
      "commit",
      "begin undefined undefined",
      "rollback",
      "begin undefined undefined",
      "rollback",
    ]);
  });

  test("migrates in one transaction before anything else", async () => {
    const { log, native } = transactions();
    const fixture = rig({
      db: db({ onMigrate: async (tx) => void (await tx.execute("create table t(a)")) }),
      onMigrate: (_: unknown, isNew: boolean) => log.push(`user ${isNew}`),
      actions: { q: (c: any) => c.db.execute("select 1") },
    });
    fixture.ctx.services.sql = native;
    await fixture.call("onMigrate", { isNew: true });
    expect(log).toEqual(["begin 300000 rivetkit-migration", "tx:create table t(a)", "commit", "user true"]);
    await fixture.action("q");
    expect(rig({}).has("onMigrate")).toBe(false);
  });

  test("explains storage trouble and refuses use after close", async () => {
    const { native } = transactions();
    const fixture = rig({ actions: { q: (c: any) => c.db.execute("select 1"), close: (c: any) => c.db.close() } });
    fixture.ctx.services.sql = {
      ...native,
      executeValues: async () => {
        throw new Error('__RIVET_ERROR_JSON__:{"group":"core","code":"internal_error","message":"disk I/O error"}');
      },
      takeLastKvError: () => "page 7 is gone",
    };
    await expect(fixture.action("q")).rejects.toMatchObject({ message: "disk I/O error (page 7 is gone)" });
    await fixture.action("close");
    await expect(fixture.action("q")).rejects.toMatchObject({ group: "sqlite", code: "closed" });
  });
});

describe("tagged templates", () => {
  test("make parameters of values and text of statements", () => {
    const order = sql`order by ${"x"} desc`;
    expect({ ...sql`select * from t where a = ${1} and b = ${null} ${order}` }).toEqual({
      sql: "select * from t where a = ? and b = ? order by ? desc",
      params: [1, null, "x"],
    });
    expect({ ...sql`select 1` }).toEqual({ sql: "select 1", params: [] });
    // What merely looks like a statement is a value like any other.
    expect(sql`select ${{ sql: "drop table t", params: [] }}`.sql).toBe("select ?");
  });
});

describe("a turnstile", () => {
  test("lets so many in at a time, in their order, and goes on after failures", async () => {
    const turnstile = new Turnstile(2);
    const log: string[] = [];
    let inside = 0;
    const pass = (name: string) =>
      turnstile.pass(async () => {
        inside++;
        log.push(`${name}${inside}`);
        await Promise.resolve();
        inside--;
        if (name === "b") throw new Error("no");
      });
    const outcomes = await Promise.allSettled(["a", "b", "c", "d", "e"].map(pass));
    expect(outcomes.map((outcome) => outcome.status[0])).toEqual(["f", "r", "f", "f", "f"]);
    expect(log.map((entry) => entry[0]).join("")).toBe("abcde");
    expect(log.every((entry) => Number(entry[1]) <= 2)).toBe(true);
  });
});
