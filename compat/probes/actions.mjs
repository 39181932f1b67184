// Actions: values, errors, sizes.

import { catching } from "./toolbox.mjs";

export default {
  inc: async (t) => {
    const h = t.client.plain.getOrCreate(t.key());
    return [await h.inc(2), await h.inc(), await h.get()];
  },
  meta: async (t) => t.client.plain.getOrCreate(["fixed", "key/with/slash"]).meta(),
  nestedAction: async (t) => {
    const h = t.client.plain.getOrCreate(t.key());
    return catching(h.action?.({ name: "group.nested", args: [] }));
  },
  nestedAction2: async (t) => catching(t.client.plain.getOrCreate(t.key()).group?.nested()),
  errors: async (t) => {
    const h = t.client.plain.getOrCreate(t.key());
    return [
      await catching(h.user()),
      await catching(h.user2()),
      await catching(h.plainErr()),
      await catching(h.str()),
      await catching(h.nothere()),
    ];
  },
  timeout: async (t) => catching(t.client.plain.getOrCreate(t.key()).slow()),
  types: async (t) => {
    const r = await catching(t.client.plain.getOrCreate(t.key()).types());
    return r?.error
      ? r
      : Object.fromEntries(
          Object.entries(r).map(([n, v]) => [
            n,
            `${Object.prototype.toString.call(v)} ${typeof v === "bigint" ? v : v instanceof Map ? [...v] : v instanceof Set ? [...v] : v instanceof Date ? +v : JSON.stringify(v)}`,
          ]),
        );
  },
  echo: async (t) => {
    const h = t.client.plain.getOrCreate(t.key());
    const out = [];
    for (const v of [
      undefined,
      null,
      1,
      -1,
      1.5,
      2 ** 40,
      "é😀",
      [1, [2]],
      { a: { b: 1 } },
      true,
      5n,
      ["$x", 1],
      new Uint8Array([1]),
      new Date(1000),
    ]) {
      const r = await catching(h.echo(v));
      out.push(`${Object.prototype.toString.call(r)} ${typeof r === "bigint" ? r : JSON.stringify(r)}`);
    }
    return out;
  },
  undef: async (t) => String(await t.client.plain.getOrCreate(t.key()).undef()),
  bigOut: async (t) => catching(t.client.plain.getOrCreate(t.key()).big(2_000_000)),
  bigIn: async (t) => catching(t.client.plain.getOrCreate(t.key()).echo("x".repeat(100_000))),
  many: async (t) => t.client.plain.getOrCreate(t.key()).many(1, 2, 3, undefined),
};
