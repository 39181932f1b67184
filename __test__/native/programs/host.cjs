// What the programs of the environment tests share: a host with one actor type.
"use strict";
const { mkdtempSync } = require("node:fs");
const { tmpdir } = require("node:os");
const { join } = require("node:path");
const native = require("../../../native.js");

const target = { name: "thing", key: ["a"], method: "getOrCreate" };

async function host(actions, hooks = {}, dataDir = mkdtempSync(join(tmpdir(), "greenroom-"))) {
  const registry = new native.CoreRegistry();
  const callbacks = {
    createState: () => native.encodeCbor({}),
    serializeState: () => ({ connHibernation: [], connHibernationRemoved: [] }),
    ...hooks,
    actions,
  };
  registry.register("thing", new native.NapiActorFactory(callbacks, { noSleep: true }));
  await registry.openEmbedded({ dataDir });
  const call = async (name, ...args) =>
    native.decodeCbor(await registry.localAction(target, name, native.encodeCbor(args)));
  return { native, registry, call, dataDir, encode: native.encodeCbor };
}

module.exports = { host, native, target };
