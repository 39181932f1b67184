// `node bench/genuine/crowd.mjs ours|genuine [--actors=1000] [--starts=1000]`, under the
// Node.js that the package asks for: many actors of one process of the published package
// on an engine, with this addon or with its own. Prints how fast they come, what they
// take, how fast they sleep and wake, and whose processor time all that is.

import { fork } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createClient } from "rivetkit/client";
import { abreast, cpuSeconds, FOR_CROWDS, insistence, makeCrowd, restart } from "../../__test__/engine/crowd.mjs";
import { engine, temporaryFolder } from "../../__test__/engine/pool.mjs";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const FOLDERS = { genuine: ".", ours: "../../compat" };
/** Actors that sleep and wake in turn. */
const LIVING = 50;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { actors: { type: "string", default: "1000" }, starts: { type: "string", default: "1000" } },
});
const [ACTORS, STARTS] = [values.actors, values.starts].map(Number);
const folder = FOLDERS[positionals[0]];
if (folder === undefined) throw new Error("whose addon? ours or genuine");

/** What the helpers of the tests clean up at the end of a test, and this at its own. */
const cleanup = [];
const scope = { after: (work) => cleanup.push(work) };

/** The process; gives what it has become when it is asked. */
async function program(endpoint) {
  const home = temporaryFolder(scope);
  symlinkSync(at(`${folder}/node_modules`), join(home, "node_modules"));
  copyFileSync(at("crowd-program.mjs"), join(home, "crowd-program.mjs"));
  const child = fork(join(home, "crowd-program.mjs"), [], {
    cwd: home,
    execArgv: ["--expose-gc"],
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    env: {
      ...process.env,
      RIVETKIT_RUNTIME: "native",
      RIVETKIT_ENGINE_SPAWN: "never",
      RIVET_ENDPOINT: endpoint,
      RIVET_LOG_LEVEL: "silent",
      // One arena: with many, what threads leave behind in each looks like growth.
      MALLOC_ARENA_MAX: "1",
    },
  });
  const ended = once(child, "exit");
  scope.after(async () => {
    if (child.connected) child.send("stop");
    await ended;
  });
  const [ready] = await Promise.race([once(child, "message"), ended.then(() => [])]);
  if (ready === undefined) throw new Error("the program ended before it was ready");
  return async () => {
    child.send("figures");
    const [{ figures }] = await once(child, "message");
    return { ...figures, cpu: cpuSeconds(child.pid) };
  };
}

const megabytes = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MB`;

async function measure() {
  const { endpoint, pid } = await engine(scope, FOR_CROWDS);
  const ask = await program(endpoint);
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

try {
  await measure();
} finally {
  for (const work of cleanup.reverse()) await work();
}
