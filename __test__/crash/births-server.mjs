// The process that is killed while it makes actors: each chooses a token once, at
// its creation, and tells it.

import { randomUUID } from "node:crypto";
import { actor, setup } from "greenroom";

const newborn = actor({
  createState: () => ({ token: randomUUID() }),
  actions: { who: (c) => ({ token: c.state.token, id: c.actorId }) },
});

const registry = setup({ use: { newborn } });
const { url } = await registry.listen({ port: Number(process.argv[3]), host: "127.0.0.1", dataDir: process.argv[2] });
// A test runner that dies takes the server with it.
process.on("disconnect", () => process.exit(1));
process.send({ url });
