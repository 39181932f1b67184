// `npm start`: builds what changed, then runs the counter example in this very
// process, so that Ctrl-C reaches it directly and its exit code is ours.

import { entry } from "./lib/run.mjs";
import { build } from "./lib/steps.mjs";

await entry(async () => {
  await build();
  await import("../examples/counter/server.mjs");
});
