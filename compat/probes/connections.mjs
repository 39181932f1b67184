// Connections: events, errors, limits, hibernation.

import { setTimeout as pause } from "node:timers/promises";
import { catching, dispose, err, until } from "./toolbox.mjs";

export default {
  connEvents: async (t) => {
    const h = t.client.conn.getOrCreate(t.key());
    const c = h.connect();
    const got = [];
    c.on("tick", (...a) => got.push(a));
    await c.ids();
    await c.tick(1, { a: 2 });
    await c.sendMe("me");
    await h.tick("h");
    await until(
      () => got.length,
      (n) => n >= 3,
    );
    const once = [];
    c.once("tick", (x) => once.push(x));
    await c.tick(7);
    await c.tick(8);
    await until(
      () => got.length,
      (n) => n >= 5,
    );
    await dispose(c);
    return [got, once];
  },
  unsub: async (t) => {
    const c = t.client.conn.getOrCreate(t.key()).connect();
    const got = [];
    const off = c.on("tick", (x) => got.push(x));
    await c.ids();
    await c.tick(1);
    await until(
      () => got.length,
      (n) => n >= 1,
    );
    off();
    await c.tick(2);
    await pause(1_000);
    await dispose(c);
    return got;
  },
  secret: async (t) => {
    const out = [];
    for (const ok of [true, false]) {
      const c = t.client.conn.getOrCreate(t.key(), { params: { ok } }).connect();
      const got = [];
      const e = new Promise((r) => c.onError((x) => r(err(x))));
      c.on("secret", (x) => got.push(x));
      await catching(Promise.race([c.ids(), pause(2_000)]));
      await catching(Promise.race([c.broadcastSecret(), pause(2_000)]));
      await pause(1_000);
      out.push(got, await Promise.race([e, pause(3_000).then(() => "noerr")]));
      await dispose(c);
    }
    return out;
  },
  connErr: async (t) => {
    const c = t.client.conn.getOrCreate(t.key()).connect();
    const r = [await catching(c.fail()), await catching(c.failPlain()), await catching(c.nothere()), await c.ids()];
    await dispose(c);
    return r;
  },
  connBig: async (t) => {
    const c = t.client.conn.getOrCreate(t.key()).connect();
    const r = [
      (await c.echo("x".repeat(30_000))).length,
      await catching(c.big(2_000_000)),
      await catching(Promise.race([c.echo("x".repeat(100_000)), pause(8_000).then(() => "pending")])),
    ];
    await dispose(c);
    return r;
  },
  connBigEvent: async (t) => {
    const c = t.client.conn.getOrCreate(t.key()).connect();
    const got = [];
    c.on("tick", (x) => got.push(x.length));
    await c.ids();
    const r = await catching(Promise.race([c.bigEvent(500_000), pause(8_000)]));
    await until(
      () => got.length,
      (n) => n >= 1,
    );
    const r2 = await catching(Promise.race([c.bigEvent(2_000_000), pause(8_000).then(() => "pending")]));
    await dispose(c);
    return [got, r ?? null, r2 ?? null];
  },
  hibernate: async (t) => {
    const h = t.client.conn.getOrCreate(t.key());
    const c = h.connect();
    const got = [];
    let closes = 0;
    c.onClose(() => closes++);
    c.on("tick", (x) => got.push(x));
    await c.incConn();
    await c.incConn();
    const id = await h.resolve();
    await h.sleep();
    const s = typeof (await t.asleep(id));
    await h.tick("after");
    await until(
      () => got.length,
      (n) => n >= 1,
    );
    const n = await c.incConn();
    const hib = await c.hib();
    await dispose(c);
    return [s, got, n, closes, hib];
  },
  hibernateSelf: async (t) => {
    const c = t.client.conn.getOrCreate(t.key()).connect();
    await c.incConn();
    await c.sleep();
    await pause(100);
    const r = await c.incConn();
    await dispose(c);
    return r;
  },
  destroyConn: async (t) => {
    const h = t.client.conn.getOrCreate(t.key());
    const c = h.connect();
    await c.ids();
    const closed = new Promise((r) => c.onClose(() => r("closed")));
    await h.destroy();
    const r = await Promise.race([closed, pause(8_000).then(() => "open")]);
    await dispose(c);
    return r;
  },
  disposeTwice: async (t) => {
    const c = t.client.conn.getOrCreate(t.key()).connect();
    await c.ids();
    await c.dispose();
    return [
      await catching(c.dispose().then(() => "again")),
      await catching(Promise.race([c.ids(), pause(3_000).then(() => "pending")])),
    ];
  },
  connParallel: async (t) => {
    const c = t.client.conn.getOrCreate(t.key()).connect();
    await c.ids();
    const order = [];
    const finish = (ms) => c.slow(ms).then((value) => order.push(value));
    const r = await Promise.all([finish(1_500), finish(800), finish(100)]);
    await dispose(c);
    return [r, order];
  },
  req: async (t) => {
    const c = t.client.conn.getOrCreate(t.key()).connect();
    const r = [await c.req(), await t.client.conn.getOrCreate(t.key()).req()];
    await dispose(c);
    return r;
  },
};
