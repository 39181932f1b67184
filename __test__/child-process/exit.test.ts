import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { greenroom, temporaryFolder } from "../fixtures/greenroom";

const root = join(import.meta.dirname, "../..");
const program = join(root, "__test__/fixtures/counter-program.cjs");
const run = promisify(execFile);

/**
 * Milliseconds a process may take to find out that it has nothing to do. It takes
 * a fraction of a second; what this must tell apart is lingering until an actor
 * falls asleep (30 s), or for ever, on a machine that may be very busy.
 */
const EXIT_MS = 10_000;

async function perform(task: string, dataDir: string) {
  const { stdout, stderr } = await run(process.execPath, [program, task, dataDir], { timeout: 20_000 });
  return { lines: stdout.trim().split("\n"), stderr };
}

/** Runs a program and measures from its last output to its end. */
async function lingering(task: string, dataDir: string): Promise<number> {
  const child = spawn(process.execPath, [program, task, dataDir], { stdio: ["ignore", "pipe", "inherit"] });
  let last = performance.now();
  child.stdout?.on("data", () => {
    last = performance.now();
  });
  const [code] = await once(child, "exit");
  expect(code).toBe(0);
  return performance.now() - last;
}

describe("a program", () => {
  test.runIf(existsSync("/dev/full"))("whose log cannot be written goes on, and ends", async () => {
    const noisy = join(root, "__test__/fixtures/noisy-program.cjs");
    const child = spawn(process.execPath, [noisy, temporaryFolder()], {
      stdio: ["ignore", "pipe", openSync("/dev/full", "w")],
      env: { ...process.env, RUST_LOG: "debug" },
      timeout: 30_000,
    });
    let said = "";
    child.stdout?.on("data", (text) => {
      said += text;
    });
    expect(await once(child, "exit")).toEqual([0, null]);
    expect(said).toBe("2\n");
  });

  test("that makes one call and returns exits by itself, with everything saved", async () => {
    const dataDir = temporaryFolder();
    expect(await lingering("call and return", dataDir)).toBeLessThan(EXIT_MS);
    expect((await perform("call and return", dataDir)).lines).toEqual(["2"]);
  });

  test("that shuts down exits at once", async () => {
    const dataDir = temporaryFolder();
    expect(await lingering("call and shut down", dataDir)).toBeLessThan(EXIT_MS);
    expect((await perform("call and shut down", dataDir)).lines).toEqual(["2", "closed"]);
  });

  test("that only loads the package leaves nothing running", async () => {
    expect(await lingering("only load", temporaryFolder())).toBeLessThan(EXIT_MS);
  });

  test.each(["listen without holding", "listen and close"])(
    "ends when its listener does not hold it: %s",
    async (task) => {
      expect(await lingering(task, temporaryFolder())).toBeLessThan(EXIT_MS);
    },
  );

  test("may call process.exit with a call open", async () => {
    const failed = await perform("forget a call", temporaryFolder()).catch((error: { code: number }) => error);
    expect(failed).toMatchObject({ code: 3 });
  });

  test("that listens lives until a signal ends it, which stays the program's own matter", async () => {
    const child = spawn(process.execPath, [program, "listen", temporaryFolder()], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const url = await firstLine(child);
    expect(await greenroom.createClient<any>(url).counter.getOrCreate("a").increment()).toBe(1);
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([null, "SIGTERM"]);
  });
});

describe("the package", () => {
  test("is loaded by require and by import, with the same names", () => {
    const script = `
      import * as all from "greenroom";
      import { actor, setup, createClient, UserError, CoreRegistry } from "greenroom";
      import { createRequire } from "node:module";
      const required = createRequire(import.meta.url)("greenroom");
      if (actor !== required.actor || CoreRegistry !== required.CoreRegistry) throw new Error("two copies");
      if (![setup, createClient, UserError].every((f) => typeof f === "function")) throw new Error("missing");
      const missing = Object.keys(required).filter((name) => all[name] === undefined);
      if (missing.length > 0) throw new Error(missing.join());
      console.log("same");`;
    const file = join(root, "__test__", `.import-${process.pid}.mjs`);
    writeFileSync(file, script);
    try {
      expect(execFileSync(process.execPath, [file], { encoding: "utf8" }).trim()).toBe("same");
    } finally {
      execFileSync("rm", [file]);
    }
  });

  test("offers its client without native code", () => {
    const script = `
      const client = require("greenroom/client");
      if (Object.keys(require.cache).some((file) => file.endsWith(".node"))) throw new Error("native code");
      console.log(typeof client.createClient);`;
    const output = execFileSync(process.execPath, ["-e", script], { cwd: root, encoding: "utf8" });
    expect(output.trim()).toBe("function");
  });
});

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error("no output");
  const [data] = await once(child.stdout, "data");
  return String(data).trim();
}
