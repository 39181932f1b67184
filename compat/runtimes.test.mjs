// The packed module loads, answers and leaves by itself under every supported
// Node.js, through `require` and through `import`.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { findNode } from "./lib/nodes.mjs";

const run = promisify(execFile);
const INDEX = fileURLToPath(new URL("../index.js", import.meta.url));

const PROGRAM = `
  const counter = actor({
    state: { count: 0 },
    actions: { increment: (c, by) => (c.state.count += by) },
  });
  const registry = setup({ use: { counter } });
  registry.client().counter.getOrCreate(["a"]).increment(2).then((n) => console.log("answer", n));
`;
const FORMS = {
  require: ["--input-type=commonjs", `const { actor, setup } = require(${JSON.stringify(INDEX)});`],
  import: ["--input-type=module", `import { actor, setup } from ${JSON.stringify(INDEX)};`],
};
const RUNTIMES = [
  ["the Node.js that runs the tests", process.env.GREENROOM_SERVER_NODE ?? process.execPath],
  ...[22, 24, 26].map((major) => [`Node.js ${major}`, findNode(major)]),
];

for (const [title, node] of RUNTIMES) {
  for (const [form, [flag, head]] of Object.entries(FORMS)) {
    const skip = !node && "no binary of this version for this platform";
    test(`${form} works under ${title}, and the program ends by itself`, { skip }, async (t) => {
      const dataDir = await mkdtemp(join(tmpdir(), "greenroom-runtime-"));
      t.after(() => rm(dataDir, { recursive: true, force: true }));
      const { stdout } = await run(node, [flag, "-e", head + PROGRAM], {
        env: { ...process.env, GREENROOM_DATA_DIR: dataDir },
        timeout: 20_000,
      });
      assert.equal(stdout.trim(), "answer 2");
    });
  }
}
