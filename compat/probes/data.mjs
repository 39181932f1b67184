// SQL.

import { setTimeout as pause } from "node:timers/promises";
import { catching } from "./toolbox.mjs";

/** Actions of the actor that are a probe each. */
const STATEMENTS = [
  "insRet",
  "named",
  "multi",
  "badCaught",
  "types",
  "bind",
  "bindBlob",
  "bindBig",
  "tx",
  "txFail",
  "nestTx",
  "manual",
  "par",
  "pragma",
  "fts",
  "json",
  "tables",
  "bigRow",
];

export default {
  ...Object.fromEntries(
    STATEMENTS.map((name) => [`db_${name}`, (t) => catching(t.client.dba.getOrCreate(t.key())[name]("v"))]),
  ),
  db_bad: async (t) => {
    const r = await catching(t.client.dba.getOrCreate(t.key()).bad());
    return r;
  },
  dbSleep: async (t) => {
    const h = t.client.dba.getOrCreate(t.key());
    await h.ins("a");
    const id = await h.resolve();
    await h.sleep();
    await t.asleep(id);
    const w = await h.wakeRows();
    const rows = (await h.all()).map((x) => x.v);
    return [w >= 2, rows.includes("slept"), rows[0]];
  },
  dbRaceSleep: async (t) => {
    const out = [];
    for (const after of [0, 5, 20, 60, 200]) {
      const h = t.client.dba.getOrCreate(t.key());
      await h.ins("a");
      await h.sleep();
      await pause(after);
      out.push((await catching(h.ins("b")))?.error?.slice(0, 2) ?? "ok");
    }
    return [...new Set(out.map(String))];
  },
};
