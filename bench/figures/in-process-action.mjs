import { makeRegistry } from "../lib/actors.mjs";
import { loadNative } from "../lib/native.mjs";
import { temporaryFolder } from "../lib/processes.mjs";
import { rate } from "../lib/stats.mjs";

const CALLS = 20_000;

function inProcess(name, inFlight) {
  return {
    name,
    title: `In-process action, ${inFlight} in flight, one actor`,
    unit: "/s",
    baseline: "bare threadsafe call that returns a promise",
    ratio: "subject",
    atLeast: 0.4,

    async prepare() {
      const { ThreadsafeCall } = await loadNative();
      const folder = temporaryFolder("in-process");
      process.env.GREENROOM_DATA_DIR = folder.path;
      const registry = makeRegistry();
      const handle = registry.client().counter.getOrCreate(["bench"]);
      await handle.increment(1);
      const bare = new ThreadsafeCall(async (payload) => payload);
      return { folder, registry, handle, bare };
    },

    async round({ handle, bare }) {
      const payload = Buffer.from([0x81, 0x01]);
      return {
        baseline: await rate(() => bare.call(payload), CALLS, inFlight),
        subject: await rate(() => handle.increment(1), CALLS, inFlight),
      };
    },

    async finish({ folder, registry }) {
      await registry.shutdown();
      folder.remove();
    },
  };
}

export default [inProcess("in-process", 32), inProcess("in-process-sequential", 1)];
