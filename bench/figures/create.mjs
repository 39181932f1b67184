import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { makeRegistry } from "../lib/actors.mjs";
import { loadNative } from "../lib/native.mjs";
import { temporaryFolder } from "../lib/processes.mjs";
import { rate } from "../lib/stats.mjs";

const ACTORS = 1000;
const IN_FLIGHT = 32;

export default {
  name: "create",
  title: `New actor created and answered, durable, ${IN_FLIGHT} in flight`,
  unit: "/s",
  baseline: "bare rusqlite: new database, one table, one commit (WAL, FULL)",
  ratio: "subject",
  atLeastSubject: 300,

  async prepare() {
    const native = await loadNative();
    const folder = temporaryFolder("create");
    process.env.GREENROOM_DATA_DIR = join(folder.path, "actors");
    const registry = makeRegistry();
    return { native, folder, registry, created: 0, rounds: 0 };
  },

  async round(state) {
    const bare = join(state.folder.path, `bare-${state.rounds++}`);
    mkdirSync(bare);
    const client = state.registry.client();
    const create = () => client.counter.getOrCreate([`new-${state.created++}`]).incrementDurably(1);
    return {
      baseline: ACTORS / state.native.createDatabases(bare, ACTORS),
      subject: await rate(create, ACTORS, IN_FLIGHT),
    };
  },

  async finish({ folder, registry }) {
    await registry.shutdown();
    folder.remove();
  },
};
