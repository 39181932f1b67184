// `node compat/record.mjs <folder> [probes…]`: runs the probes against the packages of
// `folder`, an install of the published package with its own addon and engine (such as
// `bench/genuine`), and writes down what it answers, for `parity.test.mjs`. On a quiet
// machine, twice, and then `npx biome check --write compat/recorded`: what differs
// between two recordings is no answer to compare with.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { startElsewhere } from "./lib/elsewhere.mjs";
import { ENCODINGS, runProbes, SUBJECTS } from "./probes/run.mjs";

const at = (path) => new URL(path, import.meta.url);
const BESIDE = ["", "-data", "-run", "-work"].map((part) => at(`runtime/probe-actors${part}.mjs`));

const [folder, ...names] = process.argv.slice(2);
if (!folder) throw new Error("which folder has the published package in its node_modules?");

// A promise that a probe let go of must not end the recording.
process.on("unhandledRejection", (error) => console.error("rejected with nobody listening:", error?.message));

for (const encoding of ENCODINGS) {
  const file = at(`recorded/${encoding}.json`);
  const answers = names.length && existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
  const program = await startElsewhere(resolve(folder), at("runtime/probe-program.mjs"), BESIDE);
  try {
    const wanted = (name) => names.length === 0 || names.includes(name);
    await runProbes({ endpoint: program.endpoint, encoding, inFlight: 3, wanted }, (subject, name, value) => {
      console.log(`${encoding} ${subject}: ${name}`);
      answers[name] = value;
    });
  } finally {
    const inOrder = Object.values(SUBJECTS).flatMap((probes) => Object.keys(probes).filter((name) => name in answers));
    const text = JSON.stringify(Object.fromEntries(inOrder.map((name) => [name, answers[name]])), null, 1);
    writeFileSync(file, `${text}\n`);
    await program.stop();
  }
}
process.exit(); // connections that the genuine side never answered are still open
