import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const read = (file: string) => readFileSync(join(root, file), "utf8");
const entry = [...read("index.js").matchAll(/^module\.exports\.(\w+) = (native|lib)\.(\w+);$/gm)];
const names = (from: string) => entry.filter(([, , source]) => source === from).map(([, name]) => name as string);

test("every export of the entry has one name throughout", () => {
  expect(entry.length).toBeGreaterThan(30);
  for (const [, exported, , source] of entry) expect(exported).toBe(source);
  expect(new Set(entry.map(([, name]) => name)).size).toBe(entry.length);
});

test("the entry exports all of the TypeScript layer and nothing that is not in it", async () => {
  expect(names("lib").sort()).toEqual(Object.keys(await import("../../ts/index")).sort());
});

test("the declarations name exactly the native exports of the entry", () => {
  const declarations = read("index.d.ts");
  const block = /export \{([^}]*)\} from "\.\/native\.js"/.exec(declarations)?.[1] ?? "";
  const declared = [...block.matchAll(/\w+/g)].map(([name]) => name);
  expect([...declared, "ActorContext"].sort()).toEqual(names("native").sort());
  expect(declarations).toContain('export * from "./lib/index.js"');
});

test("the entry exports every class and function that is declared for the addon", () => {
  const declared = [...read("native.d.ts").matchAll(/^export declare (?:class|function) (\w+)/gm)].map(
    ([, name]) => name,
  );
  expect(declared.length).toBeGreaterThan(20);
  expect(declared.sort()).toEqual(names("native").sort());
});

test("the entry exports every native class and function of the published addon", () => {
  const published =
    "ActorContext decodeInspectorRequest encodeInspectorResponse OutboundCall WorkflowSpan WorkflowStepSpan NapiActorFactory CancellationToken ConnHandle JsNativeDatabase JsSqliteTransaction JsActorStateTransaction HttpResponseBodyStream HttpRequestBodyStream Kv Queue QueueMessage CoreRegistry Schedule WebSocket setTelemetryLogSink shutdownTelemetry";
  expect(names("native")).toEqual(expect.arrayContaining(published.split(" ")));
});
