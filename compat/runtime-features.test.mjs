// What the published package offers beside actions and events, on our addon.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createClient } from "rivetkit/client";
import { asleep, until } from "./lib/connection.mjs";
import { runtimeProgram } from "./lib/runtime.mjs";
import { afterKill } from "./lib/suite.mjs";

let program;
let client;
let keys = 0;
const fresh = (name) => client[name].getOrCreate([`${name}-${keys++}`]);

/** Puts the actor to sleep, and waits until it sleeps. */
async function fallAsleep(handle) {
  const id = await handle.resolve();
  await handle.sleep();
  await asleep(program.url, id);
}

before(async () => {
  program = await runtimeProgram("features-program.mjs");
  client = createClient({ endpoint: program.url });
});
after(async () => {
  await client.dispose();
  assert.equal(await program.stop(), 0, "the program leaves with exit code 0");
});

describe("raw HTTP", () => {
  test("reaches onRequest with method, path and headers", async () => {
    const response = await fresh("web").fetch("/some/path?x=1", { method: "PUT", headers: { "x-agent": "me" } });
    assert.equal(response.status, 201);
    assert.deepEqual(await response.json(), { method: "PUT", pathname: "/some/path", agent: "me" });
  });

  test("carries a large body there and back", async () => {
    const body = Buffer.alloc(300_000, "abcdefg");
    const response = await fresh("web").fetch("/echo", { method: "POST", body });
    assert.equal(response.headers.get("x-kind"), "echo");
    assert.ok(body.equals(Buffer.from(await response.arrayBuffer())));
  });

  test("sends events as they come", async () => {
    const response = await fresh("web").fetch("/numbers?count=50");
    const lines = (await response.text()).match(/\d+/g).map(Number);
    assert.deepEqual(lines, [...Array(50).keys()]);
  });
});

describe("a raw WebSocket", () => {
  /** An open socket, and its messages one by one. */
  async function open(handle) {
    const socket = await handle.webSocket("/anything");
    const messages = [];
    const waiting = [];
    socket.addEventListener("message", ({ data }) => (waiting.shift() ?? ((m) => messages.push(m)))(data));
    const next = () => (messages.length ? messages.shift() : new Promise((resolve) => waiting.push(resolve)));
    const closed = new Promise((resolve) => socket.addEventListener("close", resolve));
    assert.equal(await next(), "welcome");
    return { socket, next, closed };
  }

  test("carries text and bytes both ways", async () => {
    const { socket, next } = await open(fresh("web"));
    socket.binaryType = "arraybuffer";
    socket.send("hello");
    assert.equal(await next(), "hello");
    socket.send(new Uint8Array([1, 2, 3]));
    assert.deepEqual([...new Uint8Array(await next())], [1, 2, 3]);
    socket.close();
  });

  test("closes with the code and reason of the actor", async () => {
    const { socket, closed } = await open(fresh("web"));
    socket.send("close");
    const { code, reason } = await closed;
    assert.deepEqual([code, reason], [4001, "as you like"]);
  });
});

describe("a queue", () => {
  test("feeds the run handler, in order", async () => {
    const handle = fresh("worker");
    for (const job of [1, 2, 3]) await handle.send("jobs", job);
    await until(
      "three jobs are done",
      () => handle.done(),
      (done) => done.length === 3,
    );
    assert.deepEqual(await handle.done(), [1, 2, 3]);
  });

  test("takes messages from inside", async () => {
    const handle = fresh("worker");
    await handle.put("from inside");
    await until(
      "the job is done",
      () => handle.done(),
      (done) => done[0] === "from inside",
    );
  });

  test("answers who waits", async () => {
    const answer = await fresh("worker").send("questions", { question: 21 }, { wait: true, timeout: 10_000 });
    assert.deepEqual(answer, { status: "completed", response: { answer: 42 } });
  });

  test("wakes a sleeping actor", async () => {
    const handle = fresh("worker");
    await handle.done();
    await handle.sleep();
    await handle.send("jobs", "wake up");
    await until(
      "the job that woke it is done",
      () => handle.done(),
      (done) => done.includes("wake up"),
    );
  });
});

describe("a schedule", () => {
  test("calls its action, once", async () => {
    const handle = fresh("timer");
    await handle.after(30, "soon");
    await until(
      "it fires",
      () => handle.fired(),
      (fired) => fired.length > 0,
    );
    assert.deepEqual(await handle.fired(), ["soon"]);
  });

  test("can be listed and cancelled", async () => {
    const handle = fresh("timer");
    const id = await handle.after(60_000, "never");
    assert.deepEqual(await handle.pending(), [["fire", "never"]]);
    assert.equal(await handle.cancel(id), true);
    assert.equal(await handle.cancel(id), false);
    assert.deepEqual(await handle.pending(), []);
  });

  test("wakes a sleeping actor", async () => {
    const handle = fresh("timer");
    await handle.after(300, "while asleep");
    await handle.sleep();
    await until(
      "it fires asleep",
      () => handle.fired(),
      (fired) => fired.includes("while asleep"),
    );
  });

  test("survives SIGKILL", async () => {
    const handle = fresh("timer");
    await handle.after(500, "after the crash");
    await program.kill();
    await program.start();
    await until(
      "it fires after the crash",
      () => afterKill(() => handle.fired()),
      (fired) => fired.length > 0,
    );
    assert.deepEqual(await handle.fired(), ["after the crash"]);
  });

  test("knows cron", async () => {
    const handle = fresh("timer");
    assert.deepEqual(await handle.daily(), ["cron", "0 9 * * *", "Europe/Berlin", true]);
    assert.deepEqual(await handle.jobs(), ["daily"]);
  });
});

describe("a database", () => {
  test("keeps rows over sleep", async () => {
    const handle = fresh("notes");
    await handle.add("first");
    // The package closes the database of an actor that is about to sleep, also
    // before a call that comes just then.
    await fallAsleep(handle);
    await handle.add("second");
    assert.deepEqual(await handle.all(), [
      { id: 1, text: "first" },
      { id: 2, text: "second" },
    ]);
  });

  test("runs transactions whole or not at all", async () => {
    const handle = fresh("notes");
    await handle.both("a");
    await assert.rejects(handle.neither("b"));
    assert.deepEqual(
      (await handle.all()).map(({ text }) => text),
      ["a", "a!"],
    );
  });

  test("gives every type as the published addon does", async () => {
    const row = await fresh("notes").big();
    assert.equal(row.n, 9_007_199_254_740_993n);
    assert.deepEqual([[...row.b], row.r, row.z], [[1, 2], 1.5, null]);
  });

  test("fails what SQLite refuses", async () => {
    await assert.rejects(fresh("notes").broken());
  });
});

describe("keys and values", () => {
  test("are kept over sleep, listed and dropped", async () => {
    const handle = fresh("keys");
    await handle.put("a/1", "one");
    await handle.put("a/2", "two");
    await handle.put("b", "three");
    await handle.sleep();
    assert.equal(await handle.get("a/2"), "two");
    assert.deepEqual(await handle.list("a/"), [
      ["a/1", "one"],
      ["a/2", "two"],
    ]);
    await handle.drop("a/1");
    assert.equal(await handle.get("a/1"), null);
  });
});

describe("a workflow", () => {
  test("steps, retries, sleeps, loops, waits for a message, and goes on after sleep", async () => {
    const handle = fresh("order");
    await until(
      "the loop ends",
      () => handle.state(),
      ({ log }) => log.includes("tick 2"),
    );
    await handle.sleep();
    await handle.send("payment", { amount: 12 });
    const { log, tries, paid } = await until(
      "the payment arrives",
      () => handle.state(),
      ({ paid }) => paid !== undefined,
    );
    assert.deepEqual([log, tries, paid], [["begin", "tick 0", "tick 1", "tick 2", "paid after 2"], 2, 12]);
  });
});
