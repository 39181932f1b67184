// greenroom behind its own listener, with the data directory it is given.

import { makeRegistry } from "./actors.mjs";

const registry = makeRegistry();
const { url } = await registry.listen({ port: 0, host: "127.0.0.1", dataDir: process.argv[2] });
process.send({ url });
process.on("message", async () => {
  await registry.shutdown();
  process.disconnect();
});
