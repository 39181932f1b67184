// The program that the probes of `probes/` are run against. It says its own port
// to nobody: whoever starts it chose it.

import { setup } from "rivetkit";
import * as basic from "./probe-actors.mjs";
import * as data from "./probe-actors-data.mjs";
import * as run from "./probe-actors-run.mjs";
import * as work from "./probe-actors-work.mjs";

const registry = setup({
  use: { ...basic, ...data, ...run, ...work },
  noWelcome: true,
  startServices: false,
  test: { enabled: true },
});
await registry.startAndWait();
process.send("ready");

process.on("message", async () => {
  process.disconnect();
  await registry.shutdown();
  process.exit();
});
