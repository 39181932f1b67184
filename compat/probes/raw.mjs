// Raw HTTP and raw WebSockets.

import { err, httpJson, until, wsOpen } from "./toolbox.mjs";

export default {
  rawHttp: async (t) => {
    const h = t.client.raw.getOrCreate(t.key(), { params: { q: 1 } });
    const out = [];
    for (const [p, i] of [
      ["x/y?a=1", { headers: { "x-h": "v" } }],
      ["/z", { method: "POST", body: "b" }],
      ["/boom", {}],
      ["/user", {}],
      ["/none", {}],
      ["/204", {}],
      ["/418", {}],
      ["/body", { method: "PUT", body: "text", headers: { "content-type": "text/x" } }],
      ["/len", { method: "POST", body: new Uint8Array(3_000_000) }],
      ["", {}],
      ["/m", { method: "DELETE" }],
      ["/m", { method: "PATCH", body: "1" }],
    ]) {
      out.push(await httpJson(h.fetch(p, i)).catch(err));
    }
    out.push(
      await httpJson(h.fetch(new Request("http://example.com/via/request?z=1", { method: "POST", body: "q" }))).catch(
        err,
      ),
    );
    return out;
  },
  rawHead: async (t) => {
    const r = await t.client.raw.getOrCreate(t.key()).fetch("/418");
    return [r.headers.get("x-a"), r.headers.get("set-cookie"), r.status];
  },
  raw302: async (t) => {
    const r = await t.client.raw.getOrCreate(t.key()).fetch("/302", { redirect: "manual" });
    return [r.status, r.headers.get("location")];
  },
  noRaw: async (t) => httpJson(t.client.noraw.getOrCreate(t.key()).fetch("/x")),
  rawWs: async (t) => {
    const s = await wsOpen(t.client.raw.getOrCreate(t.key()), "some/path?x=1");
    await until(
      () => s.msgs.length,
      (n) => n >= 1,
      8_000,
    );
    s.ws.send("hi");
    s.ws.send(new Uint8Array([1, 2, 3]));
    await until(
      () => s.msgs.length,
      (n) => n >= 3,
      8_000,
    );
    s.ws.send("close");
    await until(s.closed, (x) => x);
    return [s.msgs, s.closed()];
  },
  rawWsNoPath: async (t) => {
    const s = await wsOpen(t.client.raw.getOrCreate(t.key()));
    await until(
      () => s.msgs.length,
      (n) => n >= 1,
      8_000,
    );
    s.ws.close(1000, "done");
    await until(s.closed, (x) => x);
    return [s.msgs, s.closed()];
  },
  rawWsNone: async (t) => {
    const s = await wsOpen(t.client.noraw.getOrCreate(t.key()), "/x").catch(err);
    if (s.error) return s;
    await until(s.closed, (x) => x);
    return s.closed() ?? "open";
  },
  rawWsReject: async (t) => {
    const s = await wsOpen(t.client.rejectWs.getOrCreate(t.key()), "/x").catch(err);
    if (s.error) return s;
    await until(s.closed, (x) => x);
    return s.closed() ?? "open";
  },
  rawWsHib: async (t) => {
    const h = t.client.raw.getOrCreate(t.key());
    const s = await wsOpen(h, "/h");
    await until(
      () => s.msgs.length,
      (n) => n >= 1,
      8_000,
    );
    const id = await h.resolve();
    s.ws.send("sleep");
    const st = typeof (await t.asleep(id));
    s.ws.send("again");
    await until(
      () => s.msgs.includes("again"),
      (x) => x,
      4000,
    );
    // What it says when it opens comes again, or not, as the engine sees fit.
    const r = [st, [...new Set(s.msgs)], s.closed() ?? null];
    s.ws.close();
    return r;
  },
};
