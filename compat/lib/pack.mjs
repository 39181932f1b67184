// Packs the npm packages as a release would and installs them, without the
// network, into a folder of their own.

import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const NAPI = join(ROOT, "node_modules", "@napi-rs", "cli", "dist", "cli.js");

/** npm runs under the Node.js that the machine has, not under the client's. */
const npm = (args, cwd) => run("npm", args, { cwd, env: { ...process.env, npm_config_loglevel: "error" } });

async function pack(folder, into) {
  const { stdout } = await npm(["pack", "--json", "--ignore-scripts", "--pack-destination", into], folder);
  const result = JSON.parse(stdout);
  const [{ filename, unpackedSize, files }] = Array.isArray(result) ? result : Object.values(result);
  return { tarball: join(into, filename), unpackedSize, files: files.map(({ path }) => path) };
}

/** The platform of the addon that was built here, as in `linux-x64-gnu`. */
async function builtPlatform() {
  const names = await readdir(ROOT);
  const platform = names.map((name) => /^greenroom\.(.+)\.node$/.exec(name)?.[1]).find(Boolean);
  if (!platform) throw new Error("the addon is not built: npm run build");
  return platform;
}

/** Packs the package of `platform`; napi makes its folders within the project only. */
async function packNative(platform, into) {
  const target = join(ROOT, "target");
  await mkdir(target, { recursive: true });
  const dirs = await mkdtemp(join(target, "pack-"));
  try {
    await run(process.execPath, [NAPI, "create-npm-dirs", "--npm-dir", relative(ROOT, dirs)], { cwd: ROOT });
    const addon = `greenroom.${platform}.node`;
    await copyFile(join(ROOT, addon), join(dirs, platform, addon));
    return await pack(join(dirs, platform), into);
  } finally {
    await rm(dirs, { recursive: true, force: true });
  }
}

/**
 * Packs the main package and the one of this platform and installs both below
 * `folder`. Resolves with what was packed and where it is installed.
 */
export async function packAndInstall(folder) {
  const tarballs = join(folder, "tarballs");
  const project = join(folder, "project");
  await Promise.all([mkdir(tarballs), mkdir(project)]);
  const main = await pack(ROOT, tarballs);
  const native = await packNative(await builtPlatform(), tarballs);
  await writeFile(join(project, "package.json"), '{ "name": "user", "private": true }');
  await npm(["install", "--offline", "--no-audit", "--no-fund", main.tarball, native.tarball], project);
  return { project, main, native };
}

/** Bytes of all files below `folder`. */
export async function sizeOf(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const sizes = await Promise.all(
    entries.filter((entry) => entry.isFile()).map((entry) => stat(join(entry.parentPath, entry.name))),
  );
  return sizes.reduce((sum, { size }) => sum + size, 0);
}

export async function manifestOf(project, name) {
  return JSON.parse(await readFile(join(project, "node_modules", name, "package.json"), "utf8"));
}
