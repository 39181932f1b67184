import { join } from "node:path";
import { makeRegistry } from "../lib/actors.mjs";
import { loadNative } from "../lib/native.mjs";
import { temporaryFolder } from "../lib/processes.mjs";
import { rate } from "../lib/stats.mjs";

const SAVES = 500;
const IN_FLIGHT = 64;
const SLEEPERS = 1000;

async function prepare(name) {
  const native = await loadNative();
  const folder = temporaryFolder(name);
  process.env.GREENROOM_DATA_DIR = join(folder.path, "actors");
  const registry = makeRegistry();
  const client = registry.client();
  const handle = client.counter.getOrCreate(["bench"]);
  await handle.incrementDurably(1);
  return { native, folder, registry, client, handle };
}

async function finish({ folder, registry }) {
  await registry.shutdown();
  folder.remove();
}

const bareCommits = ({ native, folder }) => SAVES / native.commitRows(join(folder.path, "bare.db"), SAVES);

const save = {
  name: "save",
  title: "Durable saves of one actor, each awaited before the next",
  unit: "/s",
  baseline: "bare rusqlite commit in a loop (WAL, FULL)",
  atLeast: 0.8,
  warmUp: 2,
  prepare: () => prepare("save"),
  finish,
  async round(state) {
    const baseline = bareCommits(state);
    return { baseline, subject: SAVES / (await state.handle.saveOneByOne(SAVES)) };
  },
};

const call = {
  ...save,
  name: "save-call",
  title: "Action with a durable save, one actor, sequential",
  atLeast: undefined,
  async round(state) {
    const baseline = bareCommits(state);
    return { baseline, subject: await rate(() => state.handle.incrementDurably(1), SAVES, 1) };
  },
};

const shared = {
  ...save,
  name: "save-shared",
  title: `Action with a durable save, one actor, ${IN_FLIGHT} in flight`,
  baseline: "the same action, sequential",
  atLeast: 5,
  async round({ handle }) {
    const once = () => handle.incrementDurably(1);
    return { baseline: await rate(once, SAVES, 1), subject: await rate(once, SAVES * 8, IN_FLIGHT) };
  },
};

const reply = {
  ...save,
  name: "save-reply",
  title: `Action with \`durability: "reply"\`, one actor, ${IN_FLIGHT} in flight`,
  baseline: 'the same action with `"interval"`',
  atLeast: 0.5,
  async round({ client, handle }) {
    const replier = client.replier.getOrCreate(["bench"]);
    const calls = SAVES * 8;
    await replier.increment(1);
    return {
      baseline: await rate(() => handle.increment(1), calls, IN_FLIGHT),
      subject: await rate(() => replier.increment(1), calls, IN_FLIGHT),
    };
  },
};

const shutdown = {
  name: "shutdown",
  title: `Shutdown of ${SLEEPERS.toLocaleString("en-US")} live actors with unsaved state`,
  unit: "s",
  baseline: "bare rusqlite: as many new databases, one commit each",
  atMostSubject: 3,
  rounds: 3,
  async round() {
    const { native, folder, registry, client } = await prepare("shutdown");
    const keys = Array.from({ length: SLEEPERS }, (_, at) => `s${at}`);
    const sleepers = keys.map((key) => client.sleeper.getOrCreate([key]));
    let next = 0;
    await rate(() => sleepers[next++].increment(1), SLEEPERS, 32);
    await Promise.all(sleepers.map((sleeper) => sleeper.increment(1)));
    const since = performance.now();
    await registry.shutdown();
    const subject = (performance.now() - since) / 1000;
    const baseline = native.createDatabases(folder.path, SLEEPERS);
    folder.remove();
    return { baseline, subject };
  },
};

export default [save, call, shared, reply, shutdown];
