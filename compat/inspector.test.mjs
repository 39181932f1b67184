// The inspector's WebSocket of actors that the published package runs, read with
// the published package's own codec.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { encode } from "cbor-x";
import { createClient } from "rivetkit/client";
import { asleep, until } from "./lib/connection.mjs";
import { cbor, inspect, inspectorToken } from "./lib/inspector.mjs";
import { runtimeProgram } from "./lib/runtime.mjs";

let program;
let client;

before(async () => {
  program = await runtimeProgram("features-program.mjs");
  client = createClient(program.url);
});
after(async () => {
  await client.dispose();
  assert.equal(await program.stop(), 0);
});

let actors = 0;
const fresh = (name) => client[name].getOrCreate([`inspected-${++actors}`]);

/** An actor and an inspector that was let in; it ends with the test. */
async function inspected(t, name) {
  const handle = fresh(name);
  const id = await handle.resolve();
  const inspector = inspect(program.url, id, { token: await inspectorToken(program.url, id) });
  t.after(() => inspector.socket.close());
  const init = await inspector.next("Init");
  return { handle, id, inspector, init };
}

const args = (...list) => new Uint8Array(encode(list)).buffer;

describe("an inspector", () => {
  test("is shown everything at first", async (t) => {
    const { init } = await inspected(t, "worker");
    assert.deepEqual(init.rpcs, ["done", "put", "sleep"]);
    assert.deepEqual(cbor(init.state), { done: [] });
    assert.deepEqual(
      [init.isStateEnabled, init.isDatabaseEnabled, init.isWorkflowEnabled, init.queueSize],
      [true, true, false, 0n],
    );
    assert.deepEqual([init.tabConfig, init.schedules, init.connections], [[], [], []]);
  });

  test("hears of changes to state and connections", async (t) => {
    const { handle, inspector } = await inspected(t, "worker");
    const connection = handle.connect();
    t.after(() => connection.dispose());
    await connection.put("work");
    await until(
      "the new state",
      async () => cbor((await inspector.next("StateUpdated")).state).done.length,
      (length) => length === 1,
    );
    const { connections } = await until(
      "the connection",
      () => inspector.next("ConnectionsUpdated"),
      ({ connections }) => connections.some(({ details }) => cbor(details).isHibernatable),
    );
    const details = cbor(connections.find((one) => cbor(one.details).isHibernatable).details);
    assert.deepEqual(Object.keys(details).sort(), [
      "isHibernatable",
      "params",
      "state",
      "stateEnabled",
      "subscriptions",
      "type",
    ]);
  });

  test("changes the state", async (t) => {
    const { handle, inspector } = await inspected(t, "worker");
    inspector.ask("PatchStateRequest", { state: new Uint8Array(encode({ done: ["patched"] })).buffer });
    await until(
      "the patched state",
      async () => cbor((await inspector.next("StateUpdated")).state).done[0],
      (first) => first === "patched",
    );
    assert.deepEqual(await handle.done(), ["patched"]);
  });

  test("runs actions, and hears why they fail", async (t) => {
    const { inspector } = await inspected(t, "notes");
    inspector.ask("ActionRequest", { id: 1n, name: "add", args: args("a note") });
    assert.equal((await inspector.next("ActionResponse")).rid, 1n);
    inspector.ask("ActionRequest", { id: 2n, name: "all", args: args() });
    assert.deepEqual(cbor((await inspector.next("ActionResponse")).output), [{ id: 1, text: "a note" }]);
    inspector.ask("ActionRequest", { id: 3n, name: "broken", args: args() });
    assert.match((await inspector.next("Error")).message, /syntax error/);
    inspector.ask("ActionRequest", { id: 4n, name: "nothing", args: args() });
    assert.match((await inspector.next("Error")).message, /was not found/);
  });

  test("reads tables", async (t) => {
    const { handle, inspector } = await inspected(t, "notes");
    for (const text of ["one", "two", "three"]) await handle.add(text);
    inspector.ask("DatabaseSchemaRequest", { id: 5n });
    const { tables } = cbor((await inspector.next("DatabaseSchemaResponse")).schema);
    const { table, columns, foreignKeys, records } = tables.find((one) => one.table.name === "notes");
    assert.deepEqual([table, foreignKeys, records], [{ schema: "main", name: "notes", type: "table" }, [], 3]);
    assert.deepEqual(
      columns.map(({ name, type }) => [name, type]),
      [
        ["id", "INTEGER"],
        ["text", "TEXT"],
        ["data", "BLOB"],
      ],
    );
    inspector.ask("DatabaseTableRowsRequest", { id: 6n, table: "notes", limit: 1n, offset: 1n });
    const { result } = await inspector.next("DatabaseTableRowsResponse");
    assert.deepEqual(cbor(result), [{ id: 2, text: "two", data: null }]);
    inspector.ask("DatabaseTableRowsRequest", { id: 7n, table: 'no"tes', limit: 1n, offset: 0n });
    assert.match((await inspector.next("Error")).message, /no such table/);
  });

  test("reads queues", async (t) => {
    const { handle, inspector } = await inspected(t, "order");
    // The workflow takes no message of this name.
    await handle.send("unread", { amount: 1 });
    assert.equal((await inspector.next("QueueUpdated")).queueSize, 1n);
    inspector.ask("QueueRequest", { id: 8n, limit: 10n });
    const { status } = await inspector.next("QueueResponse");
    assert.deepEqual([status.size, status.maxSize, status.truncated], [1n, 1000n, false]);
    assert.equal(status.messages[0].name, "unread");
  });

  test("sees schedules, and deletes them", async (t) => {
    const { handle, inspector } = await inspected(t, "timer");
    await handle.after(60_000, "later");
    await handle.daily();
    let schedules = [];
    while (schedules.length < 2) ({ schedules } = await inspector.next("SchedulesUpdated"));
    assert.deepEqual(
      schedules.map(({ kind, action, expression }) => [kind, action, expression]),
      [
        ["at", "fire", null],
        ["cron", "fire", "0 9 * * *"],
      ],
    );
    inspector.ask("ScheduleHistoryRequest", { id: 9n, scheduleId: "daily", limit: 5n });
    assert.deepEqual((await inspector.next("ScheduleHistoryResponse")).history, []);
    for (const [id, kind] of [
      [schedules[0].id, "at"],
      ["daily", "cron"],
    ]) {
      inspector.ask("ScheduleDeleteRequest", { id: 10n, scheduleId: id, kind });
      assert.equal((await inspector.next("ScheduleDeleteResponse")).deleted, true);
    }
    inspector.ask("SchedulesRequest", { id: 11n });
    assert.deepEqual((await inspector.next("SchedulesResponse")).schedules, []);
  });

  test("follows a workflow", async (t) => {
    const { inspector, init } = await inspected(t, "order");
    assert.equal(init.isWorkflowEnabled, true);
    const { history } = await inspector.next("WorkflowHistoryUpdated");
    assert.ok(history.byteLength > 0);
    inspector.ask("WorkflowHistoryRequest", { id: 12n });
    const answer = await inspector.next("WorkflowHistoryResponse");
    assert.deepEqual([answer.rid, answer.isWorkflowEnabled], [12n, true]);
  });

  test("does not keep its actor awake, and is told when it sleeps", async (t) => {
    const { handle, id, inspector } = await inspected(t, "worker");
    await handle.sleep();
    const [code, reason] = await inspector.closed;
    assert.deepEqual([code, reason.split("#")[0]], [1000, "actor.stopped"]);
    await asleep(program.url, id);
  });

  test("hears that it made no sense, and goes on", async (t) => {
    const { inspector } = await inspected(t, "worker");
    inspector.socket.send(new Uint8Array([200, 1, 2]));
    assert.equal(typeof (await inspector.next("Error")).message, "string");
    inspector.ask("RpcsListRequest", { id: 13n });
    assert.equal((await inspector.next("RpcsListResponse")).rid, 13n);
    inspector.socket.send("text");
    assert.deepEqual(await inspector.closed, [1002, "ws.protocol_error"]);
  });
});

describe("who wants to inspect", () => {
  test("needs the token", async () => {
    const id = await fresh("worker").resolve();
    for (const token of [undefined, "wrong"]) {
      assert.deepEqual(await inspect(program.url, id, { token }).closed, [1008, "inspector.unauthorized"]);
    }
  });

  test("negotiates a version, or is answered in the fifth with its number before", async (t) => {
    const id = await fresh("worker").resolve();
    const token = await inspectorToken(program.url, id);
    for (const version of ["0", "7", "", "six"]) {
      const refused = inspect(program.url, id, { token, query: `?protocol_version=${version}` });
      assert.deepEqual(await refused.closed, [1002, "inspector.invalid_protocol_version"]);
    }
    const legacy = inspect(program.url, id, { token, query: "" });
    t.after(() => legacy.socket.close());
    const frame = new Uint8Array(await legacy.frame());
    assert.deepEqual([...frame.subarray(0, 3)], [5, 0, 13]);
  });
});

describe("what everybody may see", () => {
  test("are figures of the process, without waking anybody", async () => {
    const handle = fresh("worker");
    const id = await handle.resolve();
    const metrics = await fetch(`${program.url}/gateway/${id}/metrics`);
    assert.equal(metrics.headers.get("content-type"), "text/plain; version=0.0.4");
    assert.match(await metrics.text(), /^# TYPE greenroom_sockets_open gauge$/m);
  });

  test("is no file that does not exist", async () => {
    const id = await fresh("worker").resolve();
    for (const [path, code] of [
      ["ui/assets/none.js", "ui_asset_not_found"],
      ["custom-tabs/none/", "custom_tab_not_found"],
    ]) {
      const response = await fetch(`${program.url}/gateway/${id}/inspector/${path}`);
      assert.deepEqual([response.status, (await response.json()).code], [404, code]);
    }
  });
});
