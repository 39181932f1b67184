// Probes of the published package on our addon, against what it answered on its own
// addon with its engine (`recorded/`, written by `record.mjs`).

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { onEngine } from "./lib/host.mjs";
import { runtimeProgram } from "./lib/runtime.mjs";
import { DIFFERENCES } from "./probes/differences.mjs";
import { ENCODINGS, runProbes, SUBJECTS } from "./probes/run.mjs";

// On an engine no more than when they were recorded: an engine with many actors that wake
// at a time takes longer than probes wait.
const inFlight = onEngine ? 3 : 12;

for (const encoding of ENCODINGS) {
  const recorded = JSON.parse(readFileSync(new URL(`recorded/${encoding}.json`, import.meta.url), "utf8"));
  describe(`answers as on the genuine addon, ${encoding}`, () => {
    const answers = {};
    let program;
    before(async () => {
      program = await runtimeProgram("probe-program.mjs");
      await runProbes({ endpoint: program.url, encoding, inFlight }, (_subject, name, value) => {
        answers[name] = value;
      });
    });
    after(async () => assert.equal(await program.stop(), 0, "the program leaves with exit code 0"));

    for (const [subject, probes] of Object.entries(SUBJECTS)) {
      for (const name of Object.keys(probes)) {
        const difference = DIFFERENCES[encoding][name];
        test(`${subject}: ${name}${difference ? `, but ${difference.reason}` : ""}`, () => {
          assert.ok(name in recorded, "it has a recorded answer");
          assert.deepEqual(answers[name], difference ? difference.answer(recorded[name]) : recorded[name]);
        });
      }
    }
  });
}
