// Actors that the probes of `probes/` are run against: SQL, raw HTTP and raw WebSockets.

import { actor, UserError } from "rivetkit";
import { db } from "rivetkit/db";

export const dba = actor({
  state: { log: [] },
  db: db({
    onMigrate: async (d) => {
      await d.execute("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY AUTOINCREMENT, v TEXT, n REAL, b BLOB)");
    },
  }),
  onWake: async (c) => {
    c.state.wakeRows = (await c.db.execute("SELECT count(*) AS n FROM t"))[0].n;
  },
  onSleep: async (c) => {
    await c.db.execute("INSERT INTO t (v) VALUES ('slept')");
  },
  onDisconnect: async (c) => {
    await c.db.execute("INSERT INTO t (v) VALUES ('disc')");
  },
  options: { sleepTimeout: 2_000 },
  actions: {
    ins: (c, v) => c.db.execute("INSERT INTO t (v) VALUES (?)", v),
    insRet: (c, v) => c.db.execute("INSERT INTO t (v) VALUES (?) RETURNING id, v", v),
    all: (c) => c.db.execute("SELECT v FROM t ORDER BY id"),
    named: (c) => c.db.execute("SELECT :a AS a, :b AS b", { a: 1, b: "x" }),
    multi: (c) =>
      c.db.execute("INSERT INTO t (v) VALUES ('m1'); INSERT INTO t (v) VALUES ('m2'); SELECT count(*) AS n FROM t"),
    bad: (c) => c.db.execute("SELEC 1"),
    badCaught: async (c) => {
      try {
        await c.db.execute("SELECT * FROM nope");
      } catch (e) {
        return [e.group, e.code, String(e.message).slice(0, 60)];
      }
    },
    types: (c) =>
      c.db.execute(
        "SELECT 1 AS i, 1.5 AS r, 'x' AS t, NULL AS n, x'0102' AS b, 9223372036854775807 AS big, 1e999 AS inf",
      ),
    bind: (c) => c.db.execute("SELECT ? AS a, ? AS b, ? AS c, ? AS d, ? AS e", 1, "s", null, 1.25, true),
    bindBlob: (c) =>
      c.db.execute("SELECT typeof(?) AS t, length(?) AS l", new Uint8Array([1, 2, 3]), new Uint8Array([1])),
    bindBig: (c) => c.db.execute("SELECT typeof(?) AS t", 2n ** 60n),
    tx: async (c) => {
      await c.db.transaction(async (tx) => {
        await tx.execute("INSERT INTO t (v) VALUES ('tx1')");
      });
      return "ok";
    },
    txFail: async (c) => {
      try {
        await c.db.transaction(async (tx) => {
          await tx.execute("INSERT INTO t (v) VALUES ('txf')");
          throw new Error("rollback");
        });
      } catch (e) {
        return e.message;
      }
    },
    nestTx: async (c) => {
      try {
        await c.db.transaction(
          async (_tx) => {
            await c.db.transaction(async () => {}, { timeout: 200 });
          },
          { timeout: 400 },
        );
        return "ok";
      } catch (e) {
        return [e.group, e.code];
      }
    },
    manual: async (c) => {
      await c.db.execute("BEGIN");
      await c.db.execute("INSERT INTO t (v) VALUES ('man')");
      await c.db.execute("ROLLBACK");
      return (await c.db.execute("SELECT count(*) AS n FROM t WHERE v='man'"))[0].n;
    },
    par: async (c) => {
      await Promise.all(Array.from({ length: 30 }, (_, i) => c.db.execute("INSERT INTO t (v) VALUES (?)", `p${i}`)));
      return (await c.db.execute("SELECT count(*) AS n FROM t"))[0].n;
    },
    wakeRows: (c) => c.state.wakeRows,
    pragma: (c) => c.db.execute("PRAGMA journal_mode"),
    fts: async (c) => {
      try {
        await c.db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS f USING fts5(x)");
        await c.db.execute("INSERT INTO f VALUES ('hello world')");
        return c.db.execute("SELECT x FROM f WHERE f MATCH 'hello'");
      } catch (e) {
        return e.message.slice(0, 80);
      }
    },
    json: (c) => c.db.execute("SELECT json_extract('{\"a\":5}', '$.a') AS v"),
    tables: (c) => c.db.execute("SELECT name FROM sqlite_master WHERE type='table' AND name LIKE 't%'"),
    bigRow: async (c) => {
      await c.db.execute("INSERT INTO t (v) VALUES (?)", "q".repeat(300_000));
      return (await c.db.execute("SELECT length(v) AS l FROM t WHERE length(v) > 1000"))[0].l;
    },
    sleep: (c) => c.sleep(),
    destroy: (c) => c.destroy(),
  },
});

export const raw = actor({
  state: { hits: 0 },
  options: { canHibernateWebSocket: true },
  onRequest: async (c, req) => {
    const u = new URL(req.url);
    if (u.pathname === "/boom") throw new Error("boom");
    if (u.pathname === "/user") throw new UserError("uerr", { code: "uc", metadata: { z: 1 } });
    if (u.pathname === "/none") return undefined;
    if (u.pathname === "/204") return new Response(null, { status: 204 });
    if (u.pathname === "/302") return new Response(null, { status: 302, headers: { location: "/x" } });
    if (u.pathname === "/418")
      return new Response("tea", { status: 418, headers: { "x-a": "b", "set-cookie": "a=1" } });
    if (u.pathname === "/body")
      return new Response(await req.text(), { headers: { "content-type": req.headers.get("content-type") ?? "none" } });
    if (u.pathname === "/len") return Response.json({ len: (await req.arrayBuffer()).byteLength });
    await req.text(); // left unread, a body ends the answer early under either addon
    c.state.hits++;
    return Response.json({
      m: req.method,
      p: u.pathname,
      s: u.search,
      h: req.headers.get("x-h"),
      hits: c.state.hits,
      conn: c.conn ? "yes" : "no",
      params: c.conn?.params ?? null,
    });
  },
  onWebSocket: (c, ws) => {
    const u = new URL(c.request?.url ?? "http://none/");
    ws.send(JSON.stringify({ path: u.pathname, search: u.search, proto: ws.protocol ?? null }));
    ws.addEventListener("message", (e) => {
      if (e.data === "close") ws.close(4000, "bye");
      else if (e.data === "throw") throw new Error("ws throw");
      else if (e.data === "sleep") c.sleep();
      else ws.send(e.data);
    });
  },
  actions: { hits: (c) => c.state.hits, sleep: (c) => c.sleep() },
});
export const noraw = actor({ actions: { x: () => 1 } });
export const rejectWs = actor({
  onWebSocket: () => {
    throw new UserError("nope", { code: "wsn" });
  },
  actions: {},
});
