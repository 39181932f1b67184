// HTTP as a client without the package speaks it, and the inspector's routes.

import { dispose, httpJson, INSPECTOR_TOKEN } from "./toolbox.mjs";

const POST = {
  method: "POST",
  body: "{}",
  headers: { "content-type": "application/json", "x-rivet-encoding": "json" },
};

export default {
  gatewayUrl: async (t) => {
    const u = await t.client.plain.getOrCreate(["gw"]).getGatewayUrl?.();
    return String(u).replace(String(t.port), "PORT");
  },
  gwAction: async (t) => {
    const key = t.key()[0];
    const post = (path, body, headers = {}) =>
      httpJson(
        fetch(t.url("plain", key, path), {
          method: "POST",
          body,
          headers: { "content-type": "application/json", "x-rivet-encoding": "json", ...headers },
        }),
      );
    return [
      await post("/action/inc", JSON.stringify({ args: [3] })),
      await post("/action/inc", "{"),
      await post("/action/inc", ""),
      await post("/action/nope", "{}"),
      await post("/nope", "{}"),
      await httpJson(fetch(t.url("plain", key, "/action/inc"))),
      await httpJson(fetch(t.url("plain", key, "/health"))),
      await httpJson(fetch(t.url("plain", key, "/metadata"))),
      await httpJson(fetch(t.url("plain", key, "/"))),
      await post("/action/conns", "{}", { "x-rivet-conn-params": JSON.stringify({ a: 1 }) }),
      await post("/action/conns", "{}", { "x-rivet-conn-params": "{" }),
      await post("/action/user", "{}"),
      await post("/action/plainErr", "{}"),
    ];
  },
  // The published client would ask again and again.
  gwUnknownActor: async (t) => httpJson(fetch(t.url("doesNotExist", t.key()[0], "/action/x"), POST)),
  gwBadCreate: async (t) => httpJson(fetch(t.url("badCreate", t.key()[0], "/action/x"), POST)),
  gwDestroyTwice: async (t) => httpJson(fetch(t.url("plain", t.key()[0], "/action/destroyTwice"), POST)),
  metricsRoute: async (t) => {
    const r = await fetch(t.url("plain", t.key()[0], "/metrics"));
    const text = await r.text();
    return [r.status, r.headers.get("content-type"), text.includes("# TYPE")];
  },
  inspector: async (t) => {
    const key = t.key()[0];
    const h = t.client.dba.getOrCreate([key]);
    await h.ins("one");
    const c = t.client.dba.getOrCreate([key]).connect();
    await c.all();
    const id = await h.resolve();
    const call = (m, p, b, auth = `Bearer ${INSPECTOR_TOKEN}`) =>
      httpJson(
        fetch(`${t.endpoint}/gateway/${id}/inspector${p}`, {
          method: m,
          headers: { authorization: auth, "content-type": "application/json" },
          body: b === undefined ? undefined : JSON.stringify(b),
        }),
      );
    const scrub = (x) =>
      JSON.parse(
        JSON.stringify(x)
          .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "UUID")
          .replace(/"createdAtMs":\d+/g, '"createdAtMs":0'),
      );
    const out = {};
    for (const [m, p, b] of [
      ["GET", "/state"],
      ["PATCH", "/state", { state: { log: ["patched"] } }],
      ["GET", "/state"],
      ["GET", "/connections"],
      ["GET", "/rpcs"],
      ["POST", "/action/all", { args: [] }],
      ["POST", "/action/nothere", { args: [] }],
      ["GET", "/queue?limit=10"],
      ["GET", "/workflow-history"],
      ["POST", "/workflow/replay", {}],
      ["GET", "/traces?startMs=0&endMs=1&limit=1"],
      ["GET", "/database/schema"],
      ["GET", "/database/rows?table=t&limit=5"],
      ["GET", "/database/rows"],
      ["POST", "/database/execute", { sql: "SELECT 1 AS x" }],
      ["POST", "/database/execute", {}],
      ["POST", "/database/execute", { sql: "SELECT :a AS a", properties: { a: 3 } }],
      ["GET", "/summary"],
      ["GET", "/nothing"],
      ["GET", "/metrics"],
    ])
      out[`${m} ${p} ${b ? JSON.stringify(b).slice(0, 30) : ""}`] = scrub(await call(m, p, b));
    out.unauth = await call("GET", "/state", undefined, "Bearer wrong");
    out.noauth = await httpJson(fetch(`${t.endpoint}/gateway/${id}/inspector/state`));
    await dispose(c);
    return out;
  },
  actorsApi: async (t) => {
    const key = t.key()[0];
    await t.client.plain.getOrCreate([key]).inc();
    const r = await (await fetch(`${t.endpoint}/actors?namespace=default&name=plain&key=${key}`)).json();
    return [r.actors.length, Object.keys(r.actors[0]).sort(), r.actors[0].name, r.actors[0].key];
  },
};
