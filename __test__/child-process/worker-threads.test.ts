import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../fixtures/greenroom";

const worker = join(import.meta.dirname, "../fixtures/worker.cjs");

const program = `
  const { Worker } = require("node:worker_threads");
  const { once } = require("node:events");
  (async () => {
    let last = 0;
    for (let round = 0; round < 50; round++) {
      const worker = new Worker(process.argv[1], { workerData: { dataDir: process.argv[2] } });
      const [count] = await once(worker, "message");
      if (count <= last) throw new Error("went back from " + last + " to " + count);
      last = count;
      await worker.terminate();
    }
    console.log("survived", last >= 50);
  })().catch((error) => { console.error(error); process.exit(1); });`;

test("the addon, loaded in a worker that is terminated in the middle of calls, never takes the process down", async () => {
  const child = spawn(process.execPath, ["-e", program, worker, temporaryFolder()], {
    stdio: ["ignore", "pipe", "inherit"],
    // A torn-off actor complains, as it should.
    env: { ...process.env, RIVET_LOG_LEVEL: "off" },
  });
  let output = "";
  child.stdout.on("data", (data) => {
    output += data;
  });
  const [code, signal] = await once(child, "exit");
  expect({ code, signal, output: output.trim() }).toEqual({ code: 0, signal: null, output: "survived true" });
}, 300_000);
