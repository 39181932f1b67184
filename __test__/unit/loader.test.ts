import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "greenroom-loader-"));
  for (const file of ["native.js", "package.json"]) copyFileSync(join(root, file), join(folder, file));
});
afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20 }));

/** Loads in a process of its own and tells what came of it. */
const load = (env: Record<string, string> = {}, before = "") => {
  const script = `${before};
    try { console.log(JSON.stringify({ value: require("./native.js") })) }
    catch (e) { console.log(JSON.stringify({ code: e.code, message: e.message, cause: e.cause?.message, packageName: e.packageName })) }`;
  const { NAPI_RS_NATIVE_LIBRARY_PATH: _, ...rest } = process.env;
  const output = execFileSync(process.execPath, ["-e", script], {
    cwd: folder,
    env: { ...rest, ...env },
    encoding: "utf8",
  });
  return JSON.parse(output);
};

const pretend = (platform: string, arch: string) =>
  `Object.defineProperty(process, "platform", { value: "${platform}" }); Object.defineProperty(process, "arch", { value: "${arch}" })`;

const addPackage = (name: string, version: string, main: string) => {
  const at = join(folder, "node_modules", name);
  mkdirSync(at, { recursive: true });
  writeFileSync(join(at, "package.json"), JSON.stringify({ name, version, main: "addon.js" }));
  writeFileSync(join(at, "addon.js"), main);
};

describe("without an addon, the error", () => {
  test("names platform, package, attempts and one next step", () => {
    const { code, message, packageName } = load({}, pretend("darwin", "arm64"));
    expect(code).toBe("ERR_GREENROOM_NATIVE_NOT_FOUND");
    expect(packageName).toBe("greenroom-darwin-arm64");
    expect(message).toMatch(/Platform darwin, architecture arm64/);
    expect(message).toContain("greenroom.darwin-arm64.node: no such file");
    expect(message).toContain("greenroom-darwin-arm64: Cannot find module");
    expect(message.match(/Next step:/g)).toHaveLength(1);
    expect(message).toContain("npm install greenroom-darwin-arm64@0.1.0");
  });

  test("tells of the libc on Linux", () => {
    expect(load({}, pretend("linux", "x64")).message).toMatch(/libc (gnu|musl)/);
  });

  test("says so where there is no prebuilt addon at all", () => {
    const { message } = load({}, pretend("freebsd", "x64"));
    expect(message).toContain("no prebuilt addon for freebsd-x64");
  });

  test("reports a file that is broken, and goes on to the package", () => {
    writeFileSync(join(folder, "greenroom.darwin-x64.node"), "garbage");
    const { message } = load({}, pretend("darwin", "x64"));
    expect(message).toMatch(/greenroom\.darwin-x64\.node: (?!no such file)/);
    expect(message).toContain("install again");
  });

  test("blames a path from the environment instead of passing over it", () => {
    addPackage("greenroom-win32-x64-msvc", "0.1.0", "module.exports = 'package'");
    const { message } = load({ NAPI_RS_NATIVE_LIBRARY_PATH: "./nowhere.node" }, pretend("win32", "x64"));
    expect(message).toContain("correct or unset NAPI_RS_NATIVE_LIBRARY_PATH");
  });
});

describe("the addon", () => {
  test("comes from the platform package of the same version only", () => {
    addPackage("greenroom-win32-x64-msvc", "0.1.0", "module.exports = 'package'");
    expect(load({}, pretend("win32", "x64"))).toEqual({ value: "package" });
    addPackage("greenroom-win32-x64-msvc", "0.0.9", "module.exports = 'package'");
    expect(load({}, pretend("win32", "x64")).message).toContain("is version 0.0.9, but greenroom is 0.1.0");
  });

  test("comes from the path in the environment, if given", () => {
    writeFileSync(join(folder, "mine.js"), "module.exports = 'mine'");
    expect(load({ NAPI_RS_NATIVE_LIBRARY_PATH: join(folder, "mine.js") })).toEqual({ value: "mine" });
  });
});
