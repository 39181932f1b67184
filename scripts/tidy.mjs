// Rules of the house that no other tool checks: file budgets, module heads,
// direction of dependencies, no test switched off. `node scripts/tidy.mjs`.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { entry, Failure, must, root } from "./lib/run.mjs";

const LINES_MAX = 500;

/** Written by a tool; nobody has to hold them in the head. */
const GENERATED = ["native.d.ts"];

/** Lower crates first: a crate may depend on those before it only. */
const LAYERS = ["error", "wire", "store", "core", "gateway", "host-embedded", "host-engine"];

const isTest = (path) => /(^|\/)(tests?|__test__|benches|examples)(\/|\.)|\.test\.|_tests?\.rs$/.test(path);

/** Each rule gets a path and its text and gives the findings as sentences. */
export const RULES = [
  function fileBudget(path, text) {
    if (!/\.(rs|ts|mjs|js)$/.test(path) || GENERATED.includes(path)) return [];
    const lines = text.split("\n").length - 1;
    return lines > LINES_MAX ? [`has ${lines} lines, ${LINES_MAX} are allowed: split it`] : [];
  },

  function moduleHead(path, text) {
    if (!/^(src|crates\/[^/]+\/src)\/.*\.rs$/.test(path) || isTest(path)) return [];
    return text.trim() === "" || text.startsWith("//!")
      ? []
      : ["has no `//!` head that says what it owns and what it does not do"];
  },

  function noTestSwitchedOff(path, text) {
    const off = path.endsWith(".rs") ? /#\[ignore/ : /\b(?:it|test|describe)\.(?:only|skip|todo)\s*\(/;
    return /\.(rs|ts|mjs)$/.test(path) && isTest(path) && off.test(text) ? ["switches a test off or others out"] : [];
  },

  function dependencyDirection(path, text) {
    const crate = /^crates\/([^/]+)\/Cargo\.toml$/.exec(path)?.[1];
    if (!crate || !LAYERS.includes(crate)) return [];
    const [normal] = text.split(/^\[dev-dependencies\]/m);
    return [...normal.matchAll(/^greenroom-([a-z-]+)\b/gm)]
      .map(([, other]) => other)
      .filter((other) => LAYERS.indexOf(other) >= LAYERS.indexOf(crate))
      .map((other) => `depends on ${other}, which lies above or beside it`);
  },

  function oneSqlite(path, text) {
    const manifest = /^crates\/[^/]+\/Cargo\.toml$/.test(path) && !path.startsWith("crates/store/");
    return manifest && /^rusqlite\b/m.test(text) ? ["depends on rusqlite, which lives in crates/store only"] : [];
  },
];

/** All findings of one file, each with its path in front. */
export function findings(path, text) {
  return RULES.flatMap((rule) => rule(path, text)).map((finding) => `${path} ${finding}`);
}

async function main() {
  const { output } = await must("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    output: "keep",
  });
  const paths = output.split("\0").filter((path) => /\.(rs|ts|mjs|js|toml)$/.test(path));
  const all = paths.flatMap((path) => findings(path, readFileSync(join(root, path), "utf8")));
  if (all.length > 0) throw new Failure(`${all.join("\n✗ ")}`);
}

if (process.argv[1] && import.meta.filename === process.argv[1]) await entry(main);
