/** The addon alone, and actors written against its classes. */
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
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
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Answers of `serializeState` for an actor whose state never changes. */
export const nothingToSave = { connHibernation: [], connHibernationRemoved: [] };

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
