// Decides whether a build step can be left out: its inputs have the content
// they had when it last succeeded, and its outputs are there.
//
// Content is compared, not file times, so a fresh checkout of known sources is
// as good as the folder they were built in.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const SKIPPED = new Set(["node_modules", "target", "lib", "dist", ".git"]);

/** Every file below `path` (or `path` itself), sorted; missing paths give none. */
export function filesOf(base, path) {
  const full = join(base, path);
  const info = statSync(full, { throwIfNoEntry: false });
  if (!info) return [];
  if (info.isFile()) return [path];
  return readdirSync(full)
    .filter((name) => !SKIPPED.has(name))
    .sort()
    .flatMap((name) => filesOf(base, join(path, name)));
}

/** One hash over names and contents of `inputs` and over the texts in `extra`. */
export function fingerprint(base, inputs, extra = []) {
  const hash = createHash("sha256");
  for (const file of inputs.flatMap((path) => filesOf(base, path))) {
    const content = readFileSync(join(base, file));
    hash.update(`${file}\0${content.length}\0`).update(content);
  }
  for (const text of extra) hash.update(`\0${text}`);
  return hash.digest("hex");
}

/**
 * Does `work` unless `stampFile` says that it was done for these very inputs.
 * The old stamp goes before the work starts: a step that was interrupted runs
 * again. Resolves with true if the work was done.
 */
export async function unlessFresh({ stampFile, mark, outputs }, work) {
  const done = existsSync(stampFile) && readFileSync(stampFile, "utf8") === mark;
  if (done && outputs().every((path) => existsSync(path))) return false;
  rmSync(stampFile, { force: true });
  await work();
  mkdirSync(dirname(stampFile), { recursive: true });
  writeFileSync(stampFile, mark);
  return true;
}
