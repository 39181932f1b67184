// Lifecycle: hooks, sleep, run handlers and workflows.

import { setTimeout as pause } from "node:timers/promises";
import { catching, dispose, err, httpJson, INSPECTOR_TOKEN, until } from "./toolbox.mjs";

/** What a life's log holds besides the calls that ask for it. */
const EVENTS = new Set(["create", "wake", "sleep", "slow done", "waitUntil done"]);

/** The log of a life once it woke a second time. */
const awakeAgain = (h) =>
  until(
    () => h.log(),
    (log) => log.filter((each) => each === "wake").length === 2,
  );

export default {
  life: async (t) => {
    const h = t.client.life.getOrCreate(t.key());
    const a = await h.log();
    const id = await h.resolve();
    await t.asleep(id);
    const b = await h.log();
    return [a, b];
  },
  lifeConn: async (t) => {
    const h = t.client.life.getOrCreate(t.key(), { params: { p: 1 } });
    const c = h.connect();
    const r = [await c.connState(), await c.connState(), await c.nconns(), await h.nconns()];
    await dispose(c);
    await pause(1_000);
    return [r, (await h.log()).slice(0, 10)];
  },
  reject: async (t) => {
    const out = [];
    for (const p of [{ reject: true }, { throwPlain: true }, { failConnect: true }]) {
      out.push(await catching(t.client.life.getOrCreate(t.key(), { params: p }).log()));
      const c = t.client.life.getOrCreate(t.key(), { params: p }).connect();
      const e = new Promise((r) => c.onError((x) => r(err(x))));
      out.push(
        await Promise.race([catching(c.log()), pause(8_000).then(() => "pending")]),
        await Promise.race([e, pause(3_000).then(() => "noerr")]),
      );
      await dispose(c);
    }
    return out;
  },
  wrapped: async (t) => t.client.life.getOrCreate(t.key()).wrapped(4),
  kick: async (t) => {
    const h = t.client.life.getOrCreate(t.key());
    const c = h.connect();
    await c.nconns();
    const closed = new Promise((r) => c.onClose(() => r("closed")));
    await h.kick();
    const r = [await Promise.race([closed, pause(8_000).then(() => "open")])];
    r.push(await c.nconns()); // it connects again
    await dispose(c);
    return r;
  },
  slowSleep: async (t) => {
    const h = t.client.life.getOrCreate(t.key());
    const p = catching(h.slow(4_000));
    await pause(1_000);
    await h.sleep();
    const answer = await p;
    return [answer, (await awakeAgain(h)).filter((each) => EVENTS.has(each))];
  },
  waitUntil: async (t) => {
    const h = t.client.life.getOrCreate(t.key());
    await h.keep(4_000);
    await h.sleep();
    await pause(1_000);
    return (await awakeAgain(h)).filter((each) => EVENTS.has(each));
  },
  run: async (t) => {
    const h = t.client.runA.getOrCreate(t.key());
    const a = await until(
      () => h.get(),
      (x) => x.ticking,
    );
    const id = await h.resolve();
    await h.sleep();
    await t.asleep(id);
    const b = await until(
      () => h.get(),
      (x) => x.starts >= 2,
    );
    return [a, b];
  },
  runNoIdle: async (t) => {
    const h = t.client.runA.getOrCreate(t.key());
    await h.get();
    await pause(3_500);
    return (await h.get()).starts;
  },
  runExit: async (t) => {
    const h = t.client.runExit.getOrCreate(t.key());
    await h.get();
    const id = await h.resolve();
    const s = typeof (await t.asleep(id));
    return [s, await h.get()];
  },
  runThrow: async (t) => {
    const h = t.client.runThrow.getOrCreate(t.key());
    await h.get();
    await pause(1_000);
    return h.get();
  },
  wf: async (t) => {
    const h = t.client.wf.getOrCreate(t.key());
    await until(
      () => h.log(),
      (l) => l.includes("l1"),
    );
    await h.sleep();
    await h.send("go", "m");
    return until(
      () => h.log(),
      (l) => l.length >= 6,
    );
  },
  wfReplay: async (t) => {
    const h = t.client.wf.getOrCreate(t.key());
    const waiting = (log) => log.at(-1) === "l1";
    await until(() => h.log(), waiting);
    await h.send("go", "m");
    const whole = await until(
      () => h.log(),
      (log) => log.length >= 6,
    );
    const id = await h.resolve();
    const replayed = await httpJson(
      fetch(`${t.endpoint}/gateway/${id}/inspector/workflow/replay`, {
        method: "POST",
        body: "{}",
        headers: { authorization: `Bearer ${INSPECTOR_TOKEN}`, "content-type": "application/json" },
      }),
    );
    const again = await until(
      () => h.log(),
      (log) => log.length > whole.length && waiting(log),
    );
    return [replayed.status, replayed.body?.workflowState, again];
  },
  wfInspector: async (t) => {
    const h = t.client.wf.getOrCreate(t.key());
    await until(
      () => h.log(),
      (l) => l.includes("l1"),
    );
    const id = await h.resolve();
    const history = () =>
      httpJson(
        fetch(`${t.endpoint}/gateway/${id}/inspector/workflow-history`, {
          headers: { authorization: `Bearer ${INSPECTOR_TOKEN}` },
        }),
      );
    // Sleeping it is from its nap on; what it waits for next has a name a moment later.
    const waiting = ({ workflowState, history }) =>
      workflowState === "sleeping" && history?.nameRegistry?.includes("w:count");
    const r = await until(history, ({ body }) => waiting(body));
    return [
      r.status,
      r.body.isWorkflowEnabled,
      r.body.workflowState,
      r.body.history?.entries?.map((e) => e.kind.tag),
      r.body.history?.nameRegistry,
    ];
  },
};
