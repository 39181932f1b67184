// Starts programs for the other scripts. Knows nothing of what it runs.

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The folder of the clone. */
export const root = fileURLToPath(new URL("../..", import.meta.url));

/** A failure that has been explained already: print the sentence, not the stack. */
export class Failure extends Error {
  name = "Failure";
}

/**
 * Runs a program in the clone's folder and resolves with `{ code, output }`.
 *
 * `output: "show"` (default) hands our terminal to the program, so that its
 * progress display works. `"tee"` shows and keeps its text; `"keep"` only
 * keeps it. A program that cannot be started counts as exit code 127, one
 * ended by a signal as 1, as one is that takes longer than `most` milliseconds.
 * Standard input is always closed: nothing here may wait for an answer.
 */
export function run(command, args = [], { env = {}, cwd = root, output = "show", most } = {}) {
  const piped = output !== "show";
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      timeout: most,
      stdio: ["ignore", piped ? "pipe" : "inherit", piped ? "pipe" : "inherit"],
    });
    const chunks = [];
    const keep = (target) => (chunk) => {
      chunks.push(chunk);
      if (output === "tee") target.write(chunk);
    };
    child.stdout?.on("data", keep(process.stdout));
    child.stderr?.on("data", keep(process.stderr));
    child.on("error", (error) => resolve({ code: 127, output: error.message }));
    child.on("close", (code) => resolve({ code: code ?? 1, output: Buffer.concat(chunks).toString("utf8") }));
  });
}

/** Like `run`, but a non-zero exit is a `Failure` that names the command. */
export async function must(command, args, options) {
  const result = await run(command, args, options);
  if (result.code !== 0) {
    if (options?.output === "keep") process.stderr.write(result.output);
    throw new Failure(`\`${[command, ...args].join(" ")}\` ended with exit code ${result.code}`);
  }
  return result;
}

/** Runs npm: the very npm that started us where there is one. */
export function npm(args, options) {
  const own = process.env.npm_execpath;
  return own?.endsWith(".js")
    ? must(process.execPath, [own, ...args], options)
    : must(process.platform === "win32" ? "npm.cmd" : "npm", args, options);
}

/** Runs a script of package.json without npm's own banner. */
export function npmScript(name, options) {
  return npm(["run", "--silent", name], options);
}

/** Runs `main`; a `Failure` becomes one line and exit code 1. */
export async function entry(main) {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    console.error(`\n✗ ${error.message}`);
    process.exitCode = 1;
  }
}
