// Where the Node.js binaries of the suite are. They come as npm packages, so
// that the suite needs nothing installed by hand.

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The binary of Node.js `major`, or undefined where no package brings one. */
export function findNode(major) {
  if (Number(process.versions.node.split(".")[0]) === major) return process.execPath;
  const name = `node${major}-${process.platform}-${process.arch}`;
  const path = fileURLToPath(new URL(`../node_modules/${name}/bin/node`, import.meta.url));
  return existsSync(path) ? path : undefined;
}

export function nodeBinary(major) {
  const path = findNode(major);
  if (!path) throw new Error(`no Node.js ${major} for ${process.platform}-${process.arch}: run \`npm ci\` in compat/`);
  return path;
}
