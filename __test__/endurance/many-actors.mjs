// Creates and calls `count` actors, then calls all of them again; sends how
// many file handles the process held at most, where the system tells.

import { readdirSync } from "node:fs";
import { registry } from "./actors.mjs";

const count = Number(process.argv[2]);
const client = registry.client();
let handles = 0;

function lookAtHandles() {
  if (process.platform === "linux") handles = Math.max(handles, readdirSync("/proc/self/fd").length);
}

/** Calls each actor once, fifty at a time, and returns the answers that were not `expected`. */
async function callAll(expected) {
  const wrong = [];
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const key = `many-${next++}`;
      const answer = await client.counter.getOrCreate([key]).increment(1);
      if (answer !== expected) wrong.push(`${key}: ${answer}`);
      if (next % 100 === 0) lookAtHandles();
    }
  };
  await Promise.all(Array.from({ length: 50 }, worker));
  return wrong;
}

const wrong = [...(await callAll(1)), ...(await callAll(2))];
await registry.shutdown();
process.send({ wrong, handles });
process.disconnect();
