// Serves the counter until it is told to stop. `GREENROOM_PORT` picks another
// port (0: any free one), `GREENROOM_DATA_DIR` another data directory.

import { registry } from "./registry.mjs";

const port = Number(process.env.GREENROOM_PORT ?? 6420);
const dataDir = process.env.GREENROOM_DATA_DIR ?? ".greenroom";

/** Stops once, whichever signal comes first and however often. */
function stopOn(...signals) {
  const stop = async (signal) => {
    for (const name of signals) process.removeListener(name, stop);
    console.log(`\n${signal}: saving and stopping`);
    await registry.shutdown();
    console.log("stopped");
  };
  for (const name of signals) process.on(name, stop);
}

try {
  const { url } = await registry.listen({ port, host: "127.0.0.1", dataDir });
  stopOn("SIGINT", "SIGTERM");
  const target = `${url}/gateway/counter/action`;
  const query = "rvt-namespace=default&rvt-method=getOrCreate&rvt-pool=default&rvt-key=visits";
  console.log(`
The counter listens on ${url} (data in ${dataDir}; Ctrl-C stops it). Three things to try in another terminal:

  1. Add one to the counter "visits"; the answer comes when the new count is on disk:
     curl -d '{"args":[1]}' '${target}/increment?${query}'

  2. Read it back, even after a restart of this server:
     curl -d '{"args":[]}' '${target}/get?${query}'

  3. The same from Node.js, in this folder:
     node -e 'require("greenroom").createClient("${url}").counter.getOrCreate(["visits"]).increment(5).then(console.log)'
`);
} catch (error) {
  console.error(`The counter could not start: ${error.message}`);
  if (error.code === "port_unavailable") {
    console.error("Another program may be using the port: try GREENROOM_PORT=0 npm start");
  }
  process.exitCode = 1;
}
