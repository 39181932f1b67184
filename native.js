"use strict";
// Finds and loads the native addon: a path from the environment, a file beside
// this one (a local build), then the package of this platform. If none works, the
// error tells what was tried, what each attempt said, and what to do next.

const { existsSync, readFileSync } = require("node:fs");
const { join, resolve } = require("node:path");

const OVERRIDE = "NAPI_RS_NATIVE_LIBRARY_PATH";
const NAME = "greenroom";
const SUPPORTED = [
  "linux-x64-gnu",
  "linux-x64-musl",
  "linux-arm64-gnu",
  "linux-arm64-musl",
  "darwin-x64",
  "darwin-arm64",
  "win32-x64-msvc",
];

/** `gnu` or `musl`; only asked on Linux. */
function detectLibc() {
  try {
    // A script or binary that names its libc; much cheaper than the report.
    const ldd = readFileSync("/usr/bin/ldd", "latin1");
    if (ldd.includes("musl")) return "musl";
    if (ldd.includes("GNU C Library") || ldd.includes("GLIBC")) return "gnu";
  } catch {
    // No ldd on this machine: ask Node.
  }
  const excluded = process.report.excludeNetwork;
  process.report.excludeNetwork = true;
  const { header } = process.report.getReport();
  process.report.excludeNetwork = excluded;
  return header.glibcVersionRuntime ? "gnu" : "musl";
}

function platformName(libc) {
  const base = `${process.platform}-${process.arch}`;
  if (libc) return `${base}-${libc}`;
  return process.platform === "win32" ? `${base}-msvc` : base;
}

function packageVersion(path) {
  return JSON.parse(readFileSync(path, "utf8")).version;
}

/** Loads the platform package, if it belongs to this very version. */
function loadPackage(name) {
  const manifest = require.resolve(`${name}/package.json`, { paths: [__dirname] });
  const found = packageVersion(manifest);
  const wanted = packageVersion(join(__dirname, "package.json"));
  if (found !== wanted) throw new Error(`${name} is version ${found}, but ${NAME} is ${wanted}`);
  return require(require.resolve(name, { paths: [__dirname] }));
}

function load() {
  const libc = process.platform === "linux" ? detectLibc() : undefined;
  const platform = platformName(libc);
  const packageName = `${NAME}-${platform}`;
  const local = join(__dirname, `${NAME}.${platform}.node`);
  const attempts = [];
  const attempt = (what, action) => {
    try {
      return action();
    } catch (error) {
      attempts.push({ what, error });
      return undefined;
    }
  };

  const override = process.env[OVERRIDE];
  if (override) {
    // Asked for by name: falling back to another file would hide the mistake.
    const native = attempt(`${OVERRIDE}=${override}`, () => require(resolve(override)));
    if (native) return native;
    throw failure({ platform, libc, packageName, attempts, next: `correct or unset ${OVERRIDE}` });
  }
  if (existsSync(local)) {
    const native = attempt(local, () => require(local));
    if (native) return native;
  } else {
    attempts.push({ what: local, error: new Error("no such file") });
  }
  const native = attempt(packageName, () => loadPackage(packageName));
  if (native) return native;
  throw failure({ platform, libc, packageName, attempts, next: nextStep(platform, packageName, attempts) });
}

/** One step that can help, chosen by what went wrong. */
function nextStep(platform, packageName, attempts) {
  if (!SUPPORTED.includes(platform)) {
    return `there is no prebuilt addon for ${platform}; build it from a clone of the repository with \`npm run build\``;
  }
  const missing = attempts.every(({ error }) => error.code === "MODULE_NOT_FOUND" || error.message === "no such file");
  if (missing) {
    return `run \`npm install ${packageName}@${packageVersion(join(__dirname, "package.json"))}\` on the machine that runs the program (optional dependencies left out, or node_modules copied from another platform)`;
  }
  return "remove node_modules and install again on this machine";
}

function failure({ platform, libc, packageName, attempts, next }) {
  const tried = attempts.map(({ what, error }) => `  - ${what}: ${String(error.message).split("\n")[0]}`);
  const message = [
    `${NAME} cannot load its native addon.`,
    `Platform ${process.platform}, architecture ${process.arch}${libc ? `, libc ${libc}` : ""}, Node ${process.version}; package looked for: ${packageName}.`,
    "Tried:",
    ...tried,
    `Next step: ${next}.`,
  ].join("\n");
  const error = new Error(message, { cause: attempts.at(-1)?.error });
  error.code = "ERR_GREENROOM_NATIVE_NOT_FOUND";
  error.platform = platform;
  error.packageName = packageName;
  error.attempts = attempts;
  return error;
}

module.exports = load();
