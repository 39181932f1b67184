// Measures one side once, `node round.mjs ours|genuine`, and prints its figures in
// the order of the table as one line of JSON.

import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { FIGURES } from "./figures.mjs";
import { startSide } from "./side.mjs";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const packagesOf = (folder, name) =>
  readdirSync(at(`${folder}/node_modules/@rivetkit/`))
    .filter((each) => each.startsWith(name))
    .map((each) => at(`${folder}/node_modules/@rivetkit/${each}`));

/** The packages of each side, and what on disk only that side needs. */
const SIDES = {
  ours: {
    folder: at("../../compat"),
    files: () => [
      ...["index.js", "index.d.ts", "native.js", "native.d.ts", "lib", "README.md", "LICENSE"].map((name) =>
        at(`../../${name}`),
      ),
      ...readdirSync(at("../../"))
        .filter((name) => name.endsWith(".node"))
        .map((name) => at(`../../${name}`)),
    ],
  },
  genuine: {
    folder: at("."),
    files: () => [...packagesOf(".", "rivetkit-napi"), ...packagesOf(".", "engine-cli")],
  },
};

const { folder, files } = SIDES[process.argv[2]];
const side = { ...(await startSide(folder)), files: files() };
const values = [];
try {
  for (const { value } of FIGURES) values.push(await value(side));
} finally {
  await side.stop();
}
console.log(JSON.stringify(values));
