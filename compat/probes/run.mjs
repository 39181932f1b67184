// Runs probes against a program and gathers their answers.

import { CAME_TOO_LATE } from "../lib/host.mjs";
import actions from "./actions.mjs";
import actors from "./actors.mjs";
import connections from "./connections.mjs";
import data from "./data.mjs";
import gateway from "./gateway.mjs";
import lifecycle from "./lifecycle.mjs";
import raw from "./raw.mjs";
import { err, scrubbed, toolbox } from "./toolbox.mjs";
import work from "./work.mjs";

export const SUBJECTS = { actions, actors, connections, lifecycle, work, data, raw, gateway };
export const ENCODINGS = ["bare", "json"];

/** How long a probe may take; one that takes longer has that as its answer. */
const PATIENCE = 30_000;

/** Gives each probe's answer as it comes: `answer(subject, name, value)`, `inFlight` at a time. */
export async function runProbes({ endpoint, encoding, inFlight, wanted = () => true }, answer) {
  const tools = toolbox(endpoint, encoding);
  const left = Object.entries(SUBJECTS)
    .flatMap(([subject, probes]) => Object.entries(probes).map(([name, probe]) => ({ subject, name, probe })))
    .filter(({ name }) => wanted(name));
  const worker = async () => {
    for (let next = left.shift(); next; next = left.shift()) {
      let value;
      for (let attempt = 1; attempt === 1 || (cameTooLate(value) && attempt <= 3); attempt++) {
        value = scrubbed(await bounded(next.probe(tools)));
      }
      answer(next.subject, next.name, value);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  await tools.dispose();
}

/** The second: what a gateway had delivered when its actor fell asleep. */
const TOO_LATE = new RegExp(`envoy"?,"?(${CAME_TOO_LATE.join("|")})|guard"?,"?actor_stopped_while_waiting`);
const cameTooLate = (value) => TOO_LATE.test(JSON.stringify(value));

async function bounded(promise) {
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, PATIENCE, { error: ["probe", "timed_out"] });
  });
  try {
    return await Promise.race([promise.catch(err), late]);
  } finally {
    clearTimeout(timer);
  }
}
