// A worker full of calls under way, to be ended at any moment.
"use strict";
const { parentPort, workerData } = require("node:worker_threads");
const { host } = require("./host.cjs");

async function main() {
  const { call, registry, encode, dataDir, native } = await host(
    {
      wait: (_, { cancelToken }) => {
        cancelToken.onCancelled(() => {});
        return new Promise((resolve) => setTimeout(() => resolve(encode(1)), Math.random() * 4));
      },
      hang: () => new Promise(() => {}),
      save: async (_, { ctx }) => {
        await ctx.requestSaveAndWait({ immediate: true });
        return encode(2);
      },
      quick: () => encode(3),
    },
    {
      run: (_, { ctx }) => new Promise((resolve) => ctx.abortSignal().addEventListener("abort", () => resolve(true))),
    },
  );
  if (workerData.calls === 1) {
    parentPort.postMessage(await call("quick"));
    await registry.shutdown();
    return;
  }
  const names = ["wait", "hang", "save", "quick"];
  for (let i = 0; i < workerData.calls; i++) call(names[i % names.length]).catch(() => {});
  for (let i = 0; i < 100; i++) native.encodeCbor({ i });
  parentPort.postMessage(dataDir);
  // Some are ended in the middle of JavaScript, the others while they wait.
  if (workerData.busy) for (;;) await null;
}

main();
