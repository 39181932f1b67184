/** The addon alone, and actors written against its classes. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach } from "vitest";

export const addonPath = join(import.meta.dirname, "../../native.js");
export const native = createRequire(import.meta.url)(addonPath) as typeof import("../../native.d.ts");

export const encode = (value: unknown) => native.encodeCbor(value);
export const decode = (bytes: Uint8Array) => native.decodeCbor(bytes) as any;

const cleanups: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "greenroom-"));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20 }));
  return folder;
}

/** Answers of `serializeState` for an actor whose state never changes. */
export const nothingToSave = { connHibernation: [], connHibernationRemoved: [] };

/** A port that was free a moment ago, for what wants to know it beforehand. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** A registry with one actor type, `thing`, that is to serve a folder of its own. */
export function registryToServe() {
  process.env.RIVETKIT_STORAGE_PATH = temporaryFolder();
  const registry = new native.CoreRegistry();
  const callbacks = { serializeState: () => nothingToSave, actions: { hello: () => encode("hello") } };
  registry.register("thing", new native.NapiActorFactory(callbacks, { name: "Thing" }));
  return registry;
}

export type ServeConfig = Parameters<InstanceType<typeof native.CoreRegistry>["serve"]>[0];

/** The configuration of a registry that serves this port. */
export const serveConfig = (port: number, options: Partial<ServeConfig> = {}): ServeConfig => ({
  version: 1,
  endpoint: `http://127.0.0.1:${port}`,
  namespace: "default",
  poolName: "default",
  enginePort: port,
  serverlessPackageVersion: "9.8.7",
  serverlessValidateEndpoint: false,
  serverlessMaxStartPayloadBytes: 1,
  ...options,
});

type Callbacks = { actions?: Record<string, unknown>; [hook: string]: unknown };

/** A host with one actor type, `thing`, and calls to it. */
export async function stage(callbacks: Callbacks, config: Record<string, unknown> = {}, dataDir = temporaryFolder()) {
  const registry = new native.CoreRegistry();
  const all = { serializeState: () => nothingToSave, ...callbacks };
  registry.register("thing", new native.NapiActorFactory(all, config));
  await registry.openEmbedded({ dataDir });
  cleanups.push(() => registry.shutdown());
  const target = { name: "thing", key: ["a"], method: "getOrCreate" as const };
  const call = async (action: string, ...args: unknown[]) =>
    decode(await registry.localAction(target, action, encode(args)));
  return { registry, target, call, dataDir };
}

/** The structured error inside a rejection; fails if there is none. */
export async function failure(promise: Promise<unknown>) {
  const error = await promise.then(
    (value) => {
      throw new Error(`resolved to ${String(value)}`);
    },
    (error: Error & { code: string }) => error,
  );
  return structured(error);
}

/** The same for something that throws. */
export function thrown(act: () => unknown) {
  try {
    act();
  } catch (error) {
    return structured(error as Error);
  }
  throw new Error("did not throw");
}

function structured(error: Error) {
  const prefix = "__RIVET_ERROR_JSON__:";
  if (!error.message.startsWith(prefix)) throw error;
  return JSON.parse(error.message.slice(prefix.length));
}

/** A promise with its resolver. */
export function event<T = void>() {
  let happen: (value: T) => void = () => {};
  const promise = new Promise<T>((resolve) => {
    happen = resolve;
  });
  return { promise, happen };
}

/** The published form of a structured error that user code throws. */
export function bridged(fields: Record<string, unknown>) {
  return new Error(`__RIVET_ERROR_JSON__:${JSON.stringify(fields)}`);
}
