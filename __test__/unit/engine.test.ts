import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { engineBinary, engineSettings } from "../../ts/registry/engine";

describe("which engine a registry joins", () => {
  test("none without an endpoint, nor for one of this machine", () => {
    expect(engineSettings({}, {})).toBe(undefined);
    expect(engineSettings({ endpoint: "http://127.0.0.1:6420" }, {})).toBe(undefined);
    expect(engineSettings({}, { RIVET_ENDPOINT: "http://localhost:1", GREENROOM_HOST: "embedded" })).toBe(undefined);
  });

  test("options win over the environment, and the URL may carry both", () => {
    const env = {
      RIVET_ENDPOINT: "https://a.example",
      RIVET_TOKEN: "t",
      RIVET_NAMESPACE: "n",
      RIVET_POOL: "p",
      RIVET_ENVOY_VERSION: "3",
    };
    const fromEnv = { endpoint: "https://a.example", token: "t", namespace: "n", poolName: "p", version: 3 };
    expect(engineSettings({}, env)).toEqual({ ...fromEnv, startable: false });
    const given = { endpoint: "https://m:s@b.example/", envoy: { poolName: "q", version: 4 } };
    expect(engineSettings(given, env)).toEqual({
      endpoint: "https://b.example",
      token: "s",
      namespace: "m",
      poolName: "q",
      version: 4,
      startable: false,
    });
  });

  test("one of this machine if told so, which may then be started", () => {
    const env = { GREENROOM_HOST: "engine" };
    expect(engineSettings({}, env)).toMatchObject({ endpoint: "http://127.0.0.1:6420", startable: true });
    expect(engineSettings({ endpoint: "http://10.0.0.1:1" }, env)).toMatchObject({ startable: false });
  });

  test.each([
    [{ envoy: { version: 1.5 } }, {}, "envoy.version"],
    [{ envoy: { pool: "x" } }, {}, "envoy.pool"],
    [{}, { RIVET_ENVOY_VERSION: "new" }, "envoy.version"],
    [{}, { GREENROOM_HOST: "cloud" }, "GREENROOM_HOST"],
    [{ endpoint: "engine" }, {}, "endpoint"],
  ])("refuses %j with %j", (options, env, named) => {
    expect(() => engineSettings(options as object, env)).toThrow(named);
  });
});

describe("the engine's program", () => {
  test("is the one that the environment names, one that is installed, or none", () => {
    const folder = mkdtempSync(join(tmpdir(), "greenroom-unit-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    expect(engineBinary({ RIVET_ENGINE_BINARY: "/some/engine" }, folder)).toBe("/some/engine");
    expect(engineBinary({}, folder)).toBe(undefined);
    const installed = join(folder, "node_modules/@rivetkit/engine-cli");
    mkdirSync(installed, { recursive: true });
    writeFileSync(join(installed, "index.js"), "exports.getEnginePath = () => '/installed/engine';");
    expect(engineBinary({}, folder)).toBe("/installed/engine");
  });
});
