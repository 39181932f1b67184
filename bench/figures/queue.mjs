import { join } from "node:path";
import { makeRegistry } from "../lib/actors.mjs";
import { loadNative } from "../lib/native.mjs";
import { temporaryFolder } from "../lib/processes.mjs";

const COMMITS = 500;
const IN_FLIGHT = 64;

function queue(name, title, action, messages, aims) {
  return {
    name,
    title,
    unit: "/s",
    baseline: "bare rusqlite commit in a loop (WAL, FULL)",
    ratio: "subject",
    ...aims,

    async prepare() {
      const native = await loadNative();
      const folder = temporaryFolder(name);
      process.env.GREENROOM_DATA_DIR = join(folder.path, "actors");
      const registry = makeRegistry();
      const handle = registry.client().post.getOrCreate(["bench"]);
      await handle[action](IN_FLIGHT, IN_FLIGHT);
      return { native, folder, registry, handle };
    },

    async round({ native, folder, handle }) {
      return {
        baseline: COMMITS / native.commitRows(join(folder.path, "bare.db"), COMMITS),
        subject: await handle[action](messages, IN_FLIGHT),
      };
    },

    async finish({ folder, registry }) {
      await registry.shutdown();
      folder.remove();
    },
  };
}

export default [
  queue("queue-send", "Durable queue send, 64 in flight, one actor", "sendMany", 5_000, { atLeast: 4 }),
  queue("queue-cycle", "Queue message sent, received and completed, one actor", "cycle", 10_000, {
    atLeastSubject: 3_000,
  }),
];
