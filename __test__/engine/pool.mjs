// An engine of a test alone, processes that join it, and clients.

import assert from "node:assert/strict";
import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient } from "greenroom";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

export const BINARY =
  process.env.RIVET_ENGINE_BINARY ??
  here("../../compat/engine/node_modules/@rivetkit/engine-cli-linux-x64-musl/rivet-engine");
assert(existsSync(BINARY), `no engine at ${BINARY}: npm install --prefix compat/engine`);

export function temporaryFolder(t) {
  const path = mkdtempSync(join(tmpdir(), "greenroom-engine-"));
  t.after(() => rmSync(path, { recursive: true, force: true, maxRetries: 5 }));
  return path;
}

/** A port with two free neighbours, which an engine takes as well. */
export async function freePort() {
  for (;;) {
    const first = await listening(0);
    const { port } = first.address();
    const others = await Promise.allSettled([listening(port + 1), listening(port + 10)]);
    for (const { value } of [{ value: first }, ...others]) value?.close();
    if (others.every(({ status }) => status === "fulfilled")) return port;
  }
}

async function listening(port) {
  const server = createServer().listen(port, "127.0.0.1");
  await once(server, "listening");
  return server;
}

/** Waits until something holds, for two minutes. */
export async function eventually(what, holds) {
  const end = Date.now() + 120_000;
  for (;;) {
    const found = await holds();
    if (found) return found;
    assert(Date.now() < end, `never happened: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** An engine of its own process, which can be killed and started again. */
export async function engine(t, variables = {}) {
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const folder = temporaryFolder(t);
  const env = {
    ...process.env,
    RIVET__GUARD__HOST: "127.0.0.1",
    RIVET__GUARD__PORT: String(port),
    RIVET__GUARD__TCP_NODELAY: "true",
    RIVET__API_PEER__HOST: "127.0.0.1",
    RIVET__API_PEER__PORT: String(port + 1),
    RIVET__METRICS__HOST: "127.0.0.1",
    RIVET__METRICS__PORT: String(port + 10),
    RIVET__FILE_SYSTEM__PATH: join(folder, "engine"),
    RIVET__TELEMETRY__ENABLED: "false",
    RIVET__RUNTIME__WORKER_CPU_MAX: "1000000000",
    RIVET__RUNTIME__FORCE_SHUTDOWN_DURATION: "2",
    RIVET__RUNTIME__GUARD_SHUTDOWN_DURATION: "1",
    RIVET__RUNTIME__WORKER_SHUTDOWN_DURATION: "1",
    ...variables,
  };
  // It tells others where it is, which its port alone does not say.
  const datacenter = {
    datacenter_label: 1,
    is_leader: true,
    public_url: endpoint,
    peer_url: `http://127.0.0.1:${port + 1}`,
  };
  const config = join(folder, "engine.json");
  const topology = { datacenter_label: 1, datacenters: { default: datacenter } };
  writeFileSync(config, JSON.stringify({ topology }));
  let child;
  const start = async () => {
    child = spawn(BINARY, ["--config", config, "start"], { env, stdio: "ignore" });
    await eventually("the engine answers", () =>
      fetch(`${endpoint}/health`).then(
        (answer) => answer.ok,
        () => false,
      ),
    );
  };
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  t.after(kill);
  await start();
  return { endpoint, start, kill };
}

/** A process that joins the engine at an endpoint. */
export async function member(t, endpoint, { env = {}, args = [] } = {}) {
  const child = fork(here("member.mjs"), args, {
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
