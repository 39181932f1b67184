// Figures for scrapers: those that the published addon has, too, have its names, types
// and labels (`recorded/metrics.json` has what it prints after a typical run), and
// values that were counted.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { createClient } from "rivetkit/client";
import { until } from "./lib/connection.mjs";
import { runtimeProgram } from "./lib/runtime.mjs";

const THEIRS = "rivet_rivetkit_";
const recorded = JSON.parse(readFileSync(new URL("recorded/metrics.json", import.meta.url)));

let program;
let client;
let id;
before(async () => {
  program = await runtimeProgram("features-program.mjs");
  client = createClient(program.url);
  id = await client.worker.getOrCreate(["metrics"]).resolve();
});
after(async () => {
  await client.dispose();
  assert.equal(await program.stop(), 0);
});

/** The families of a text, each with its type, labels and samples. */
function parse(text) {
  const families = {};
  for (const line of text.trim().split("\n")) {
    const [, name, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    if (name) families[name] = { type, labels: new Set(), samples: {} };
    if (line.startsWith("#")) continue;
    const [, sample, labels = "", value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line);
    const owner = Object.keys(families).findLast((each) => sample.startsWith(each));
    for (const [, label] of labels.matchAll(/(\w+)="/g)) if (label !== "le") families[owner].labels.add(label);
    families[owner].samples[`${sample}{${labels}}`] = Number(value);
  }
  return families;
}

const scrape = async () => parse(await (await fetch(`${program.url}/gateway/${id}/metrics`)).text());

/** The value of a sample of the worker; further labels come after the name, in the order of the text. */
const read = (families, name, suffix = "", labels = "") =>
  families[`${THEIRS}${name}`]?.samples[`${THEIRS}${name}${suffix}{actor_name="worker"${labels}}`];

describe("the figures", { timeout: 60_000 }, () => {
  test("count what actors of a type did", async (t) => {
    const handle = client.worker.getOrCreate(["metrics"]);
    const connection = handle.connect();
    t.after(() => connection.dispose());
    for (const job of ["a", "b", "c"]) await connection.put(job);
    await until(
      "the jobs",
      () => handle.done(),
      (done) => done.length === 3,
    );
    const now = await scrape();
    assert.equal(read(now, "actor_started_total"), 1);
    assert.equal(read(now, "actor_active_count"), 1);
    assert.equal(read(now, "actor_queue_messages_sent_total"), 3);
    assert.equal(read(now, "actor_queue_messages_received_total"), 3);
    assert.ok(read(now, "actor_connections_total") >= 2, "the socket, and the calls that asked for the jobs");
    assert.ok(read(now, "actor_connections_active") >= 1);
    const start = [`_count`, `,is_new="true",outcome="success",phase="total"`];
    assert.equal(read(now, "actor_startup_phase_duration_seconds", ...start), 1);
    assert.ok(read(now, "actor_startup_phase_duration_seconds", "_sum", start[1]) > 0);
  });

  test("follow an actor into its sleep", async () => {
    const before = await scrape();
    const handle = client.worker.getOrCreate(["sleeper"]);
    await handle.sleep();
    const slept = await until(
      "the sleep",
      scrape,
      (now) => read(now, "actor_stopped_total") > (read(before, "actor_stopped_total") ?? 0),
    );
    assert.ok(read(slept, "actor_shutdown_wait_seconds", "_count", `,reason="sleep"`) >= 1);
    await handle.done();
    const woken = await scrape();
    const again = `,is_new="false",outcome="success",phase="total"`;
    assert.ok(read(woken, "actor_startup_phase_duration_seconds", "_count", again) >= 1);
  });

  test("have the names, types and labels of the published addon, where they have its names", async () => {
    const families = await scrape();
    const shared = Object.keys(families).filter((name) => name.startsWith(THEIRS));
    assert.ok(shared.length >= 12, `only ${shared}`);
    for (const name of shared) {
      const { type, labels } = families[name];
      assert.deepEqual({ name, type, labels: [...labels].sort() }, { name, ...recorded[name] });
    }
  });

  test("leave out types that never had an actor", async () => {
    const families = await scrape();
    for (const [name, { samples }] of Object.entries(families)) {
      assert.ok(!Object.keys(samples).some((sample) => sample.includes(`"keys"`)), name);
    }
  });
});
