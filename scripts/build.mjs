// `npm run build`: addon and TypeScript layer. `--debug` builds the addon
// without optimisation, which links faster.

import { entry } from "./lib/run.mjs";
import { build } from "./lib/steps.mjs";

await entry(async () => {
  await build({ debug: process.argv.includes("--debug") });
  console.log("\n✓ greenroom is built");
});
