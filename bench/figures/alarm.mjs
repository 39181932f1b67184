import { setTimeout as delay } from "node:timers/promises";
import { lateness, makeRegistry } from "../lib/actors.mjs";
import { temporaryFolder } from "../lib/processes.mjs";

const ARMED = 10_000;
const FEW = 100;
const RINGS = 50;
const SPACING = 20;
const FAR = 86_400_000;

/** A host with so many sleeping actors whose alarms are set for another day. */
async function hostWith(armed) {
  const folder = temporaryFolder("alarm");
  process.env.GREENROOM_DATA_DIR = folder.path;
  const registry = makeRegistry();
  const client = registry.client();
  let next = 0;
  const worker = async () => {
    while (next < armed) await client.bell.getOrCreate([`far ${next++}`]).arm(Date.now() + FAR);
  };
  await Promise.all(Array.from({ length: 64 }, worker));
  return { registry, client, folder };
}

/** The worst of some wakes, one after the other. */
async function worst({ client }) {
  lateness.length = 0;
  const first = Date.now() + 2_000;
  const arm = (_, at) => client.bell.getOrCreate([`near ${at}`]).arm(first + at * SPACING);
  await Promise.all(Array.from({ length: RINGS }, arm));
  while (lateness.length < RINGS) await delay(50);
  return Math.max(...lateness);
}

export default {
  name: "alarm",
  title: `Wake by alarm, ${ARMED.toLocaleString("en-US")} sleeping actors armed, worst of ${RINGS}`,
  unit: "ms late",
  baseline: `the same with ${FEW} armed`,
  ratio: "baseline",
  atMostSubject: 50,

  async prepare() {
    return { many: await hostWith(ARMED), few: await hostWith(FEW) };
  },

  async round({ many, few }) {
    return { baseline: await worst(few), subject: await worst(many) };
  },

  async finish(hosts) {
    for (const { registry, folder } of Object.values(hosts)) {
      await registry.shutdown();
      folder.remove();
    }
  },
};
