// The packages that a release publishes, installed as a user would.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { manifestOf, packAndInstall, sizeOf } from "./lib/pack.mjs";

const run = promisify(execFile);
const INSTALLED_MAX = 20 * 2 ** 20;

const PROGRAM = `
  const { actor, setup } = require("greenroom");
  const counter = actor({ state: { n: 0 }, actions: { add: (c, by) => (c.state.n += by) } });
  setup({ use: { counter } }).client().counter.getOrCreate(["a"]).add(2).then(console.log);
`;

describe("the packed packages", () => {
  let folder;
  let installed;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "greenroom-pack-"));
    installed = await packAndInstall(folder);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  test("the main package holds no binary, no sources and no tests", () => {
    const strange = installed.main.files.filter((path) =>
      /\.(node|rs|toml)$|^(src|crates|ts|__test__|scripts)\//.test(path),
    );
    assert.deepEqual(strange, []);
    for (const path of ["README.md", "LICENSE", "index.js", "index.d.ts"]) {
      assert.ok(installed.main.files.includes(path), `${path} is missing`);
    }
  });

  test("the main package has no dependency and no install script", async () => {
    const { dependencies = {}, scripts = {} } = await manifestOf(installed.project, "greenroom");
    assert.deepEqual(dependencies, {});
    for (const name of ["preinstall", "install", "postinstall"]) assert.equal(scripts[name], undefined);
  });

  test("an installed program finds the binary of its platform, answers and ends", async () => {
    const { stdout } = await run(process.execPath, ["-e", PROGRAM], { cwd: installed.project, timeout: 20_000 });
    assert.equal(stdout.trim(), "2");
  });

  test("everything that is installed fits into 20 MB", async (t) => {
    const modules = join(installed.project, "node_modules");
    const names = (await readdir(modules)).filter((name) => !name.startsWith("."));
    assert.equal(names.length, 2, `only the two packages are installed: ${names}`);
    const size = await sizeOf(modules);
    t.diagnostic(`${(size / 2 ** 20).toFixed(1)} MB installed`);
    assert.ok(size <= INSTALLED_MAX);
  });
});
