// Actors: how they are found, made, kept and destroyed.

import { catching, until } from "./toolbox.mjs";

export default {
  getMissing: async (t) => catching(t.client.plain.get(t.key()).inc()),
  getMissingResolve: async (t) => catching(t.client.plain.get(t.key()).resolve()),
  forIdMissing: async (t) => catching(t.client.plain.getForId("missing").inc()),
  forId: async (t) => {
    const h = t.client.plain.getOrCreate(t.key());
    await h.inc();
    const id = await h.resolve();
    return t.client.plain.getForId(id).inc();
  },
  create: async (t) => {
    const key = t.key();
    const h = await t.client.plain.create(key, { input: { x: 1 } });
    const r = [await h.get()];
    // The engine says at times that the second one was destroyed during creation.
    const again = () => catching(t.client.plain.create(key).then(() => "created"));
    r.push(await until(again, ({ error }) => error?.[1] === "duplicate_key"));
    return r;
  },
  input: async (t) => [
    await t.client.inputA.getOrCreate(t.key(), { createWithInput: { a: 1 } }).get(),
    await t.client.inputA.getOrCreate(t.key()).get(),
    await (await t.client.inputA.create(t.key(), { input: "s" })).get(),
  ],
  destroy: async (t) => {
    const key = t.key();
    const h = t.client.plain.getOrCreate(key);
    const id = await h.resolve();
    await h.destroy();
    const gone = await until(
      () => catching(t.client.plain.getForId(id).inc()),
      (r) => r?.error?.[1] === "not_found",
    );
    const gone2 = await catching(t.client.plain.get(key).inc());
    const again = await until(
      () => catching(t.client.plain.getOrCreate(key).inc()),
      (r) => r === 1,
    );
    const id2 = await t.client.plain.getOrCreate(key).resolve();
    return [gone, gone2, again, id !== id2];
  },
  sleepWake: async (t) => {
    const h = t.client.plain.getOrCreate(t.key());
    await h.inc(5);
    await h.setDate();
    const id = await h.resolve();
    await h.sleep();
    await t.asleep(id);
    return [await h.inc(), await h.readDate()];
  },
  badState: async (t) => catching(t.client.plain.getOrCreate(t.key()).setBadState()),
  replaceState: async (t) => {
    const h = t.client.plain.getOrCreate(t.key());
    return [await h.replaceState(), await h.inc()];
  },
  saveNow: async (t) => t.client.plain.getOrCreate(t.key()).saveNow(),
  osc: async (t) => {
    const h = t.client.osc.getOrCreate(t.key());
    await h.set(5);
    await h.nested();
    await h.noop();
    await h.multi();
    await h.same();
    return h.calls();
  },
  oscBad: async (t) => {
    const h = t.client.oscBad.getOrCreate(t.key());
    return [await catching(h.set()), await catching(h.get())];
  },
  inlineCall: async (t) => t.client.inline.getOrCreate(t.key()).call(t.key()[0]),
  inlineConn: async (t) => t.client.inline.getOrCreate(t.key()).conn(t.key()[0]),
  inlineErr: async (t) => {
    const h = t.client.inline.getOrCreate(t.key());
    return [await h.err(), await h.missing()];
  },
  noState: async (t) => {
    const h = t.client.noState.getOrCreate(t.key());
    return [await h.st(), await h.vars(), await h.db()];
  },
  access: async (t) => {
    const h = t.client.access.getOrCreate(t.key());
    return [await h.pub(), await catching(h.priv())];
  },
};
