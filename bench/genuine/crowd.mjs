// `node bench/genuine/crowd.mjs ours|genuine [--actors=1000] [--starts=1000]`, under the
// Node.js that the package asks for: many actors of one process of the published package
// on an engine, with this addon or with its own. Prints how fast they come, what they
// take, how fast they sleep and wake, and whose processor time all that is.

import { once } from "node:events";
import { parseArgs } from "node:util";
import { createClient } from "rivetkit/client";
import { abreast, cpuSeconds, FOR_CROWDS, insistence, makeCrowd, restart } from "../../__test__/engine/crowd.mjs";
import { engine } from "../../__test__/engine/pool.mjs";
import { SIDES, scoped, startProgram } from "./on-engine.mjs";

/** Actors that sleep and wake in turn. */
const LIVING = 50;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { actors: { type: "string", default: "1000" }, starts: { type: "string", default: "1000" } },
});
const [ACTORS, STARTS] = [values.actors, values.starts].map(Number);
const folder = SIDES[positionals[0]];
if (folder === undefined) throw new Error("whose addon? ours or genuine");

/** The process; gives what it has become when it is asked. */
async function program(scope, endpoint) {
  // One arena: with many, what threads leave behind in each looks like growth.
  const options = { env: { MALLOC_ARENA_MAX: "1" }, flags: ["--expose-gc"] };
  const child = await startProgram(scope, "crowd-program.mjs", folder, endpoint, options);
  return async () => {
    child.send("figures");
    const [{ figures }] = await once(child, "message");
    return { ...figures, cpu: cpuSeconds(child.pid) };
  };
}

const megabytes = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MB`;

async function measure(scope) {
  const { endpoint, pid } = await engine(scope, FOR_CROWDS);
  const ask = await program(scope, endpoint);
  const client = createClient({ endpoint, encoding: "bare", disableMetadataLookup: true });
  scope.after(() => client.dispose());
  const { insist, refusals } = insistence();
  const look = async () => ({ at: performance.now(), engine: cpuSeconds(await pid()), ...(await ask()) });
  /** Does something `count` times, and says what that took. */
  const timed = async (title, count, work) => {
    const before = await look();
    await work();
    const after = await look();
    const span = (after.at - before.at) / 1000;
    const each = (of, unit, scale) => `${(((after[of] - before[of]) / count) * scale).toFixed(1)} ${unit}`;
    console.log(
      `${title}: ${count} in ${span.toFixed(0)} s, ${(count / span).toFixed(1)} a second; processor time of each ` +
        `${each("engine", "ms", 1000)} of the engine, ${each("cpu", "ms", 1000)} of the program; ` +
        `${after.starts - before.starts} starts; ${megabytes(before.bytes)} to ${megabytes(after.bytes)}, ` +
        `${each("bytes", "KiB", 1 / 1024)} each; refused so far ${JSON.stringify(refusals)}`,
    );
  };
  await insist(() => client.member.getOrCreate(["first"]).add());
  let crowd = [];
  await timed("made", ACTORS, async () => {
    crowd = await makeCrowd({ client, insist }, ACTORS);
  });
  await timed("called", ACTORS, () => abreast(crowd, (handle) => insist(() => handle.add())));
  const living = crowd.slice(0, LIVING);
  for (let quarter = 1; quarter <= 4; quarter++) {
    await timed(`woken ${quarter}/4`, STARTS / 4, () => restart({ insist }, living, STARTS / 4));
  }
}

await scoped(measure);
