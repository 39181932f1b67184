import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { whenAsleep } from "../../scripts/lib/host.mjs";
import { makeRegistry } from "../lib/actors.mjs";
import { loadNative } from "../lib/native.mjs";
import { temporaryFolder } from "../lib/processes.mjs";
import { median } from "../lib/stats.mjs";

const WAKES = 50;

export default {
  name: "wake",
  title: "Wake a sleeping actor and answer, median",
  unit: "ms",
  baseline: "bare rusqlite: open, read one row, close",
  ratio: "baseline",
  atMostSubject: 10,

  async prepare() {
    const native = await loadNative();
    const folder = temporaryFolder("wake");
    mkdirSync(join(folder.path, "bare"));
    native.createDatabases(join(folder.path, "bare"), 1);
    const registry = makeRegistry();
    const { url } = await registry.listen({ port: 0, host: "127.0.0.1", dataDir: join(folder.path, "actors") });
    const handle = registry.client().counter.getOrCreate(["bench"]);
    await handle.increment(1);
    return { native, folder, registry, handle, url, id: await handle.resolve() };
  },

  async round({ native, folder, handle, url, id }) {
    const bare = [];
    const woken = [];
    for (let wake = 0; wake < WAKES; wake++) {
      await handle.nap();
      await whenAsleep(url, id);
      bare.push(native.openAndRead(join(folder.path, "bare", "0.db")));
      const since = performance.now();
      await handle.get();
      woken.push(performance.now() - since);
    }
    return { baseline: median(bare), subject: median(woken) };
  },

  async finish({ folder, registry }) {
    await registry.shutdown();
    folder.remove();
  },
};
