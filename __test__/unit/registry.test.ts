import { resolve } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { jsCodec } from "../../ts/codec/index";
import { actor } from "../../ts/define/actor";
import { UserError } from "../../ts/errors/actor-error";
import { registryConfig } from "../../ts/registry/config";
import { Registry } from "../../ts/registry/registry";
import { FakeModule } from "../fixtures/fake-module";

const counter = actor({
  createState: (_c, input: { start: number } | undefined) => ({ n: input?.start ?? 0 }),
  options: { sleepTimeout: 10, maxQueueSize: 3 },
  actions: {
    add: (c, by: number) => {
      c.state.n += by;
      return c.state.n;
    },
    fail: () => {
      throw new UserError("no", { code: "nope", metadata: { why: 1n } });
    },
    other: (c, key: string) => c.client<any>().counter.getOrCreate(key).add(100),
  },
});

const setUp = (options: object = {}) => {
  const native = new FakeModule();
  const registry = new Registry({ use: { counter }, ...options }, { native: () => native as never, codec: jsCodec });
  opened.push(registry);
  return { native, registry, client: registry.client() };
};
const opened: { shutdown(): Promise<void> }[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((registry) => registry.shutdown()));
});

describe("a registry", () => {
  test("opens nothing until it is used, then registers all actors once", async () => {
    const { native, client } = setUp({ dataDir: "data", maxIncomingMessageSize: 99 });
    const handle = client.counter.getOrCreate("a");
    expect(native.registries).toEqual([]);
    await Promise.all([handle.add(1), handle.add(1)]);
    expect(native.only.log[0]).toEqual(["open", { dataDir: resolve("data") }]);
    expect(native.only.factories.get("counter").config).toEqual({
      hibernateWhenIdle: true,
      sleepTimeoutMs: 10,
      maxQueueSize: 3,
      maxIncomingMessageSize: 99,
      hasDatabase: true,
      hasState: true,
      actions: [{ name: "add" }, { name: "fail" }, { name: "other" }],
    });
  });

  test("passes native's failure to open on and may then be tried again", async () => {
    const { native, client } = setUp();
    native.openFails = new Error('__RIVET_ERROR_JSON__:{"group":"host","code":"data_dir_locked","message":"in use"}');
    await expect(client.counter.get("a").add(1)).rejects.toMatchObject({ group: "host", code: "data_dir_locked" });
    expect(await client.counter.getOrCreate("a").add(1)).toBe(1);
    expect(native.registries).toHaveLength(2);
  });

  test("shuts down once, whether it was open or not, and is closed from then on", async () => {
    const { native, registry, client } = setUp();
    await client.counter.getOrCreate("a").add(1);
    await Promise.all([registry.shutdown(), registry.shutdown()]);
    expect(native.only.log.filter((entry) => entry === "shutdown")).toHaveLength(1);
    await expect(client.counter.getOrCreate("a").add(1)).rejects.toMatchObject({
      group: "registry",
      code: "shut_down",
    });
    await expect(registry.listen()).rejects.toMatchObject({ code: "shut_down" });
    await setUp().registry.shutdown();
  });

  test("drains before the process exits by itself, and leaves no listener behind", async () => {
    const before = process.listenerCount("beforeExit");
    const { native, registry, client } = setUp();
    const second = setUp();
    await client.counter.getOrCreate("a").add(1);
    await second.client.counter.getOrCreate("a").add(1);
    expect(process.listenerCount("beforeExit")).toBe(before + 1);
    const added = process.listeners("beforeExit").at(-1) as (code: number) => void;
    await second.registry.shutdown();
    added(0);
    await registry.shutdown();
    expect(native.only.log.at(-1)).toBe("shutdown");
    expect(process.listenerCount("beforeExit")).toBe(before);
    for (const signal of ["SIGINT", "SIGTERM"]) expect(process.listenerCount(signal)).toBe(0);
  });

  test("joins an engine where others open a port, and leaves replacing data to the embedded host", async () => {
    const { native, registry } = setUp({ endpoint: "https://ns:secret@engine.example", envoy: { poolName: "p" } });
    const listener = await registry.listen();
    expect(listener.url).toBe("https://engine.example");
    expect(native.only.log).toContainEqual([
      "openEngine",
      { endpoint: "https://engine.example", namespace: "ns", token: "secret", poolName: "p", version: 1 },
    ]);
    await registry.startAndWait();
    await expect(registry.restore("id", "file")).rejects.toMatchObject({
      code: "not_configured",
      metadata: { component: "embedded host" },
    });
    await registry.shutdown();
  });

  test("refuses actors that are none", () => {
    const deps = { native: () => ({}) as never, codec: jsCodec };
    expect(() => new Registry({ use: { x: {} } } as never, deps)).toThrow("use.x");
    expect(() => new Registry({} as never, deps)).toThrow("use must be an object of actors");
    expect(() => new Registry({ use: { "": counter } }, deps)).toThrow("without a name");
  });
});

describe("the client inside the process", () => {
  test("calls actions, passes input, params and errors", async () => {
    const { client } = setUp();
    const handle = client.counter.getOrCreate("a", { createWithInput: { start: 5 } });
    expect([await handle.add(1), await handle.action({ name: "add", args: [2] })]).toEqual([6, 8]);
    await expect(handle.fail()).rejects.toMatchObject({ group: "user", code: "nope", metadata: { why: 1n } });
    await expect(handle.action({ name: "add", args: [() => 0] })).rejects.toThrow("args[0]");
  });

  test("is the same object each time, and what actors get", async () => {
    const { registry, client } = setUp();
    expect(registry.client()).toBe(client);
    expect(await client.counter.getOrCreate("a").other("b")).toBe(100);
    expect(await client.counter.getOrCreate("b").add(1)).toBe(101);
  });

  test("resolves and creates", async () => {
    const { client } = setUp();
    expect(await client.counter.getOrCreate(["a", "b"]).resolve()).toBe("id-of-a/b");
    const created = await client.counter.create("k", { input: { start: 1 } });
    expect(await created.resolve()).toMatch(/^counter-k-\d+$/);
  });

  test("stops waiting when its signal fires", async () => {
    const { client } = setUp();
    const controller = new AbortController();
    const call = client.counter.getOrCreate("a").action({ name: "add", args: [1], signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(call).rejects.toThrow("enough");
  });
});

describe("listening", () => {
  test("opens the host, tells where, and closes once", async () => {
    const { native, registry } = setUp();
    const listener = await registry.listen({ port: 0, host: "127.0.0.1", dataDir: "d" });
    expect(listener).toMatchObject({ url: "http://127.0.0.1:4321", host: "127.0.0.1", port: 4321 });
    expect(listener.unref().ref()).toBe(listener);
    await expect(registry.listen()).rejects.toMatchObject({ code: "already_listening" });
    await Promise.all([listener.close(), listener.close()]);
    expect(native.only.log.slice(1)).toEqual([
      ["listen", "127.0.0.1", 0],
      ["ref", false],
      ["ref", true],
      "closeListener",
    ]);
    await registry.listen({ port: 1 });
    await registry.shutdown();
  });

  test("after shutdown closes quietly", async () => {
    const { native, registry } = setUp();
    const listener = await registry.listen();
    await registry.shutdown();
    await listener.close();
    expect(native.only.log).not.toContain("closeListener");
  });

  test("is shared by calls of startAndWait", async () => {
    const { native, registry } = setUp({ port: 7000 });
    await Promise.all([registry.startAndWait(), registry.startAndWait()]);
    await registry.startAndWait();
    expect(native.only.log.filter((entry) => Array.isArray(entry) && entry[0] === "listen")).toEqual([
      ["listen", "127.0.0.1", 7000],
    ]);
    await registry.shutdown();
  });

  test("in another data directory than the open one is refused", async () => {
    const { registry, client } = setUp({ dataDir: "one" });
    await client.counter.getOrCreate("a").add(1);
    await expect(registry.listen({ dataDir: "two" })).rejects.toMatchObject({ code: "data_dir_conflict" });
    await registry.listen({ dataDir: "./one" });
    await registry.shutdown();
  });

  test.each([
    [{ prot: 1 }, "did you mean listen.port?"],
    [{ port: 70000 }, "listen.port must be a port number"],
    [{ port: "80" }, "listen.port must be a port number"],
  ])("with %j is refused", async (options, message) => {
    await expect(setUp().registry.listen(options as object)).rejects.toThrow(message);
  });
});

describe("configuration", () => {
  test("prefers options to the environment and that to defaults", () => {
    const env = { GREENROOM_DATA_DIR: "/env", GREENROOM_PORT: "7001", RIVET_PORT: "7002" };
    expect(registryConfig({}, {})).toMatchObject({
      dataDir: undefined,
      host: "127.0.0.1",
      port: 6420,
      engine: undefined,
    });
    expect(registryConfig({}, env)).toMatchObject({ dataDir: "/env", port: 7001 });
    expect(registryConfig({}, { RIVET_PORT: "7002", GREENROOM_PORT: "" })).toMatchObject({ port: 7002 });
    expect(registryConfig({ dataDir: "/o", port: 0 }, env)).toMatchObject({ dataDir: "/o", port: 0 });
  });

  test("joins an engine only if it is not this machine, or if told to", () => {
    const engine = (endpoint?: string, env = {}) =>
      registryConfig(endpoint === undefined ? {} : { endpoint }, env).engine?.endpoint;
    expect(engine("http://localhost:6420")).toBe(undefined);
    expect(engine("http://[::1]:6420")).toBe(undefined);
    expect(engine("https://e.example")).toBe("https://e.example");
    expect(engine(undefined, { RIVET_ENDPOINT: "https://e.example" })).toBe("https://e.example");
    expect(engine(undefined, { GREENROOM_HOST: "engine" })).toBe("http://127.0.0.1:6420");
    expect(() => engine(undefined, { GREENROOM_HOST: "cloud" })).toThrow("GREENROOM_HOST");
  });

  test("accepts RivetKit's engine options and refuses unknown and impossible ones", () => {
    registryConfig({ noWelcome: true, serverless: {}, envoy: {} }, {});
    expect(() => registryConfig({ serverless: { basePath: "api" } }, {})).toThrow(/basePath/);
    expect(() => registryConfig({ dataDri: "x" }, {})).toThrow("did you mean dataDir?");
    expect(() => registryConfig({ maxOpenDatabases: 0 }, {})).toThrow("maxOpenDatabases");
    expect(() => registryConfig({ logging: { baseLogger: {} } }, {})).toThrow("logging.baseLogger");
    expect(() => registryConfig({}, { GREENROOM_PORT: "http" })).toThrow("GREENROOM_PORT");
  });
});
