// Our inspector messages against the codec that the published package exports,
// which speaks version 5.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { decodeToClient, encodeToClient, encodeToServer } from "rivetkit/inspector";

const addon = createRequire(import.meta.url)("@rivetkit/rivetkit-napi");
const data = (...bytes) => Uint8Array.from(bytes).buffer;

test("requests of version 5 are those of version 6", () => {
  for (const [tag, val] of [
    ["PatchStateRequest", { state: data(0xa0) }],
    ["StateRequest", { id: 0n }],
    ["ActionRequest", { id: 300n, name: "act", args: data(0x81, 1) }],
    ["QueueRequest", { id: 5n, limit: 20n }],
    ["WorkflowReplayRequest", { id: 6n, entryId: "e" }],
    ["DatabaseTableRowsRequest", { id: 7n, table: "t", limit: 1n, offset: 2n }],
  ]) {
    const bytes = Buffer.from(encodeToServer({ body: { tag, val } }));
    assert.deepEqual(addon.decodeInspectorRequest(bytes, 5), bytes, tag);
  }
});

test("answers before the schedules are the same in both, and those after them move", () => {
  const same = { tag: "StateResponse", val: { rid: 1n, state: data(1), isStateEnabled: true } };
  const bytes = Buffer.from(encodeToClient({ body: same }));
  assert.deepEqual(addon.encodeInspectorResponse(bytes, 5), bytes);
  const rows = { tag: "DatabaseTableRowsResponse", val: { rid: 2n, result: data(0x80) } };
  const old = Buffer.from(encodeToClient({ body: rows }));
  const current = Buffer.from([19, ...old.subarray(1)]);
  assert.deepEqual(addon.encodeInspectorResponse(current, 5), old);
});

test("the first message of version 6 reads as one of version 5", () => {
  const init = {
    connections: [{ id: "c", details: data(0xa0) }],
    state: data(1),
    isStateEnabled: true,
    rpcs: ["a", "b"],
    isDatabaseEnabled: true,
    queueSize: 3n,
    workflowHistory: null,
    isWorkflowEnabled: false,
    tabConfig: [{ id: "t", label: "T", icon: null, hidden: false }],
  };
  const old = Buffer.from(encodeToClient({ body: { tag: "Init", val: init } }));
  const current = Buffer.from([17, ...old.subarray(1), 0]);
  // The codec takes all memory under the bytes for its own.
  const { body } = decodeToClient(new Uint8Array(addon.encodeInspectorResponse(current, 5)));
  assert.equal(body.tag, "Init");
  assert.deepEqual(body.val, init);
});
