import { join } from "node:path";
import { makeRegistry } from "../lib/actors.mjs";
import { loadNative } from "../lib/native.mjs";
import { temporaryFolder } from "../lib/processes.mjs";
import { rate } from "../lib/stats.mjs";

const SAVES = 500;

function save(name, inFlight) {
  return {
    name,
    title: `Action with a durable save, one actor, ${inFlight === 1 ? "sequential" : `${inFlight} in flight`}`,
    unit: "/s",
    baseline: "bare rusqlite commit in a loop (WAL, FULL)",
    ratio: "subject",

    async prepare() {
      const native = await loadNative();
      const folder = temporaryFolder("save");
      process.env.GREENROOM_DATA_DIR = join(folder.path, "actors");
      const registry = makeRegistry();
      const handle = registry.client().counter.getOrCreate(["bench"]);
      await handle.incrementDurably(1);
      return { native, folder, registry, handle };
    },

    async round({ native, folder, handle }) {
      const calls = SAVES * Math.min(inFlight, 8);
      return {
        baseline: SAVES / native.commitRows(join(folder.path, "bare.db"), SAVES),
        subject: await rate(() => handle.incrementDurably(1), calls, inFlight),
      };
    },

    async finish({ folder, registry }) {
      await registry.shutdown();
      folder.remove();
    },
  };
}

export default [save("save", 1), save("save-shared", 64)];
