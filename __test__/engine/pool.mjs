// An engine of a test alone, processes that join it, and clients.

import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient } from "greenroom";
import { engineBinary, startEngine } from "../../compat/lib/engine.mjs";

export { enginePort as freePort } from "../../compat/lib/engine.mjs";

export const BINARY = engineBinary();

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

export function temporaryFolder(t) {
  const path = mkdtempSync(join(tmpdir(), "greenroom-engine-"));
  t.after(() => rmSync(path, { recursive: true, force: true, maxRetries: 5 }));
  return path;
}

/** Waits until something holds, for two minutes; `what` may be a function that says how far it came. */
export async function eventually(what, holds) {
  const end = Date.now() + 120_000;
  for (;;) {
    const found = await holds();
    if (found) return found;
    assert(Date.now() < end, `never happened: ${typeof what === "function" ? what() : what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** An engine of its own process, which can be killed and started again. */
export async function engine(t, variables = {}) {
  const running = await startEngine({ variables });
  t.after(running.end);
  return running;
}

/** A process that joins the engine at an endpoint. */
export async function member(t, endpoint, { env = {}, args = [], program = "member.mjs", flags = [] } = {}) {
  const child = fork(here(program), args, {
    execArgv: flags,
    env: { ...process.env, RIVET_ENDPOINT: endpoint, GREENROOM_HOST: "engine", ...env },
  });
  const said = [];
  child.on("message", (message) => said.push(message));
  const ended = once(child, "exit");
  const end = async (signal) => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    await ended;
  };
  t.after(() => end("SIGKILL"));
  await eventually("the process has joined", () => {
    assert(child.exitCode === null, `it ended with ${child.exitCode}`);
    return said.some(({ joined }) => joined);
  });
  return {
    pid: child.pid,
    said,
    /** Resolves with what the process says next of this kind, once it was asked. */
    ask: async (kind) => {
      const heard = said.length;
      child.send(kind);
      const told = () => said.slice(heard).find((message) => kind in message);
      return (await eventually(`an answer to ${kind}`, told))[kind];
    },
    kill: () => end("SIGKILL"),
    freeze: () => child.kill("SIGSTOP"),
    thaw: () => child.kill("SIGCONT"),
    /** Leaves in order; resolves to its exit code. */
    leave: async () => {
      child.send("leave");
      return (await ended)[0];
    },
  };
}

export const clientOf = (t, endpoint, options = {}) => {
  const client = createClient(endpoint, { disableMetadataLookup: true, ...options });
  t.after(() => client.dispose());
  return client;
};

/** Calls until it is answered: what a process took with it is asked again. */
export const persist = (what, call) =>
  eventually(what, () =>
    call().then(
      (value) => ({ value }),
      () => undefined,
    ),
  ).then(({ value }) => value);
