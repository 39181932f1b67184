// An engine of a test alone, in a process of its own.

import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** The engine's program, or undefined where it is not installed or not made for this platform. */
export function engineBinary() {
  if (process.env.RIVET_ENGINE_BINARY) return process.env.RIVET_ENGINE_BINARY;
  try {
    return createRequire(new URL("../engine/package.json", import.meta.url))("@rivetkit/engine-cli").getEnginePath();
  } catch {
    return undefined;
  }
}

/** An engine takes the second and the eleventh port after its own one as well. */
const NEIGHBOURS = [1, 10];
const PATIENCE_MS = 120_000;
const KEEPER = fileURLToPath(new URL("engine-keeper.mjs", import.meta.url));

/** A port with two free neighbours. */
export async function enginePort() {
  for (;;) {
    const first = await listening(0);
    const { port } = first.address();
    const others = await Promise.allSettled(NEIGHBOURS.map((distance) => listening(port + distance)));
    for (const { value } of [{ value: first }, ...others]) value?.close();
    if (others.every(({ status }) => status === "fulfilled")) return port;
  }
}

async function listening(port) {
  const server = createServer().listen(port, "127.0.0.1");
  await once(server, "listening");
  return server;
}

/**
 * Starts an engine, which `kill` ends and `start` starts again on the same data; `end`
 * ends it for good, as does the end of this process. `variables` are added to its environment.
 */
export async function startEngine({ port, variables = {} } = {}) {
  const binary = engineBinary();
  assert(binary, "no engine: npm install --prefix compat/engine");
  port ??= await enginePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const folder = mkdtempSync(join(tmpdir(), "greenroom-engine-"));
  const config = join(folder, "engine.json");
  writeFileSync(config, JSON.stringify(topology(endpoint, port)));
  const env = { ...process.env, ...environment(port, folder), ...variables };
  let keeper;
  let pid;
  const start = async () => {
    keeper = fork(KEEPER, [folder, binary, "--config", config, "start"], { env, execArgv: [], stdio: "ignore" });
    pid = once(keeper, "message").then(([told]) => told);
    const end = Date.now() + PATIENCE_MS;
    while (!(await answers(endpoint))) {
      assert(keeper.exitCode === null, `the engine ended with ${keeper.exitCode}`);
      assert(Date.now() < end, "the engine never answered");
      await pause(50);
    }
  };
  const kill = async () => {
    if (keeper.exitCode !== null || keeper.signalCode !== null) return;
    const ended = once(keeper, "exit");
    keeper.send("kill");
    await ended;
  };
  const end = async () => {
    await kill();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    await start();
  } catch (error) {
    await end();
    throw error;
  }
  return { endpoint, start, kill, end, pid: () => pid };
}

const answers = (endpoint) =>
  fetch(`${endpoint}/health`).then(
    ({ ok }) => ok,
    () => false,
  );

/** It tells others where it is, which its port alone does not say. */
function topology(endpoint, port) {
  const datacenter = {
    datacenter_label: 1,
    is_leader: true,
    public_url: endpoint,
    peer_url: `http://127.0.0.1:${port + 1}`,
  };
  return { topology: { datacenter_label: 1, datacenters: { default: datacenter } } };
}

const environment = (port, folder) => ({
  RIVET__GUARD__HOST: "127.0.0.1",
  RIVET__GUARD__PORT: String(port),
  RIVET__GUARD__TCP_NODELAY: "true",
  RIVET__API_PEER__HOST: "127.0.0.1",
  RIVET__API_PEER__PORT: String(port + 1),
  RIVET__METRICS__HOST: "127.0.0.1",
  RIVET__METRICS__PORT: String(port + 10),
  RIVET__FILE_SYSTEM__PATH: join(folder, "engine"),
  RIVET__TELEMETRY__ENABLED: "false",
  // Without, a response reaches the client once it has ended.
  RIVET__FEATURES__GUARD_GATEWAY_V3__MODE: "on",
  RIVET__FEATURES__GUARD_GATEWAY_V3__PERCENTAGE: "100",
  // It leaves work lying on a machine that is busy with other tests, unless told that it has cores in plenty.
  RIVET__RUNTIME__WORKER_CPU_MAX: "1000000000",
  RIVET__RUNTIME__FORCE_SHUTDOWN_DURATION: "2",
  RIVET__RUNTIME__GUARD_SHUTDOWN_DURATION: "1",
  RIVET__RUNTIME__WORKER_SHUTDOWN_DURATION: "1",
});
