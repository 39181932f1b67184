import { describe, expect, test } from "vitest";
import { decode, encode, event, failure, native, nothingToSave, stage, temporaryFolder, thrown } from "./addon";

const CLASSES = [
  "ActorContext",
  "OutboundCall",
  "WorkflowSpan",
  "WorkflowStepSpan",
  "ConnHandle",
  "JsNativeDatabase",
  "JsSqliteTransaction",
  "JsActorStateTransaction",
  "JsSqlCursor",
  "HttpResponseBodyStream",
  "HttpRequestBodyStream",
  "Kv",
  "Queue",
  "QueueMessage",
  "Schedule",
  "WebSocket",
] as const;

describe("the module", () => {
  test.each(CLASSES)("exports %s, which only native code makes", (name) => {
    const Class = native[name] as unknown as new () => unknown;
    expect(() => new Class()).toThrow("Class contains no `constructor`, can not new it!");
  });

  test("has the functions of the published module", async () => {
    expect(native.setTelemetryLogSink(() => {})).toBeUndefined();
    await expect(native.shutdownTelemetry()).resolves.toBeUndefined();
    expect(thrown(() => native.setTelemetryLogSink(1 as never)).code).toBe("invalid_argument");
    const tooNew = thrown(() => native.decodeInspectorRequest(Buffer.alloc(1), 70_000));
    expect(tooNew.metadata).toEqual({ argument: "advertisedVersion", reason: "exceeds u16" });
  });

  test("converts messages of other inspector versions", () => {
    // A request for the list of actions: its number moved with version 2.
    expect([...native.decodeInspectorRequest(Buffer.from([6, 9]), 1)]).toEqual([4, 9]);
    // The length of a queue, which version 1 knows nothing of.
    const dropped = native.encodeInspectorResponse(Buffer.from([4, 1]), 1);
    expect(dropped.subarray(2).toString()).toBe("inspector.queue_dropped");
    expect([...native.encodeInspectorResponse(Buffer.from([4, 1]), 2)]).toEqual([4, 1]);
    for (const [bytes, version, text] of [
      [[6, 9], 99, "invalid inspector protocol version for ToServer: 99"],
      [[6], 1, "BARE input ends early"],
      [[200], 6, "the inspector message has an unknown tag"],
    ] as const) {
      const error = thrown(() => native.decodeInspectorRequest(Buffer.from(bytes), version));
      expect([error.group, error.code, error.metadata.error]).toEqual(["core", "internal_error", text]);
    }
  });
});

describe("a factory", () => {
  const make = (callbacks: object, config?: object) => new native.NapiActorFactory(callbacks, config as never);

  test("takes any known option, and passes over unknown ones", () => {
    make({ unknown: 1 }, { actionTimeoutMs: 12.9, sleepTimeoutMs: 2 ** 40, preloadMaxWorkflowBytes: 1, actions: [] });
  });

  test("takes undefined and null for absent", () => {
    make({ onWake: undefined, createState: null, actions: null }, { name: undefined });
    new native.NapiActorFactory({}, null);
  });

  test.each([
    ["callbacks that are no object", 1, undefined, "callbacks", "must be an object"],
    ["a hook that is no function", { onWake: 1 }, undefined, "onWake", "must be a function"],
    ["an action that is no function", { actions: { inc: 1 } }, undefined, "actions.inc", "must be a function"],
    ["actions that are no object", { actions: "x" }, undefined, "actions", "must be an object"],
    ["a negative time", {}, { actionTimeoutMs: -1 }, "actionTimeoutMs", "must be non-negative"],
    ["a time that is not a number", {}, { sleepTimeoutMs: Number.NaN }, "sleepTimeoutMs", "must be a number"],
    ["an unknown durability", {}, { durability: "never" }, "durability", "must be 'interval' or 'reply', not 'never'"],
  ])("refuses %s", (_, callbacks, config, argument, reason) => {
    const error = thrown(() => make(callbacks as object, config));
    expect([error.group, error.code, error.metadata]).toEqual(["napi", "invalid_argument", { argument, reason }]);
  });

  test.each([
    [
      [{ id: "state", label: "x", source: "/x" }],
      'inspector tab id "state" collides with a built-in tab; use { id: "state", hidden: true } to hide instead',
    ],
    [
      [{ id: "a b", label: "x", source: "/x" }],
      'inspector tab id "a b" is invalid: must be non-empty and contain only [a-zA-Z0-9_-]',
    ],
    [[{ id: "mine", source: "/x" }], 'inspector tab "mine" needs a label'],
    [[{ id: "mine", label: "x", source: "x" }], 'inspector tab "mine" needs a source that is an absolute path'],
    [[{ id: "nope", hidden: true }], /inspector tab id "nope" cannot be hidden/],
    [
      [
        { id: "queue", hidden: true },
        { id: "queue", hidden: true },
      ],
      'inspector tab id "queue" is used twice',
    ],
  ])("refuses tabs %j", (inspectorTabs, text) => {
    const error = thrown(() => make({}, { inspectorTabs }));
    expect([error.group, error.code]).toEqual(["core", "internal_error"]);
    expect(error.metadata.error).toMatch(text);
  });

  test.each([
    [{ baselineSampleRate: 2 }, "SQLite profiling baselineSampleRate must be between 0 and 1"],
    [{ maxTransactionNameBytes: 0 }, "SQLite profiling maxTransactionNameBytes must be greater than 0"],
    [{ maxStatementsPerTransactionTrace: 33 }, "SQLite profiling maxStatementsPerTransactionTrace must be at most 32"],
  ])("refuses profiling %j", (sqliteProfiling, text) => {
    expect(thrown(() => make({}, { sqliteProfiling })).metadata.error).toBe(text);
  });

  test("throws plain errors for values of the wrong type", () => {
    expect(() => make({}, { noSleep: "yes" })).toThrow(expect.objectContaining({ code: "BooleanExpected" }));
    expect(() => make({}, { actions: [{}] })).toThrow(expect.objectContaining({ code: "InvalidArg" }));
    expect(() => new (native.NapiActorFactory as any)()).toThrow();
  });
});

describe("a registry", () => {
  const alreadyServing = ["napi", "invalid_state", { reason: "already serving or shut down", state: "core registry" }];
  const facts = (error: any) => [error.group, error.code, error.metadata];
  const health = async (registry: InstanceType<typeof native.CoreRegistry>) => {
    const { status, headers, body } = await registry.health();
    expect(headers).toEqual({ "content-type": "application/json" });
    return [status, JSON.parse(body.toString()).status];
  };

  test("runs the factory that a name was registered with last", async () => {
    const registry = new native.CoreRegistry();
    for (const answer of ["first", "second"]) {
      const callbacks = { serializeState: () => nothingToSave, actions: { who: () => encode(answer) } };
      registry.register("thing", new native.NapiActorFactory(callbacks, {}));
    }
    await registry.openEmbedded({ dataDir: temporaryFolder() });
    try {
      const target = { name: "thing", key: [], method: "getOrCreate" as const };
      expect(decode(await registry.localAction(target, "who", encode([])))).toBe("second");
    } finally {
      await registry.shutdown();
    }
  });

  test("goes from registering over serving to its end", async () => {
    const registry = new native.CoreRegistry();
    const factory = new native.NapiActorFactory({}, { name: "Thing", icon: "T" });
    registry.register("thing", factory);
    registry.register("other", factory);
    expect(await health(registry)).toEqual([503, "not_started"]);
    expect(thrown(() => registry.metadata()).metadata.state).toBe("metadata_unavailable");
    const ready = registry.waitReady();
    const opened = registry.openEmbedded({ dataDir: temporaryFolder() });
    expect(facts(await failure(registry.openEmbedded({ dataDir: temporaryFolder() })))).toEqual(alreadyServing);
    await Promise.all([opened, ready]);
    expect(await health(registry)).toEqual([200, "ok"]);
    const metadata = JSON.parse(registry.metadata().body.toString());
    expect(metadata.actorNames.thing).toEqual({ metadata: { icon: "T", name: "Thing" } });
    expect(registry.metrics().body.toString()).toContain("greenroom_actors_awake 0");
    expect(facts(thrown(() => registry.register("late", factory)))).toEqual(alreadyServing);
    await Promise.all([registry.shutdown(), registry.shutdown()]);
    expect(await health(registry)).toEqual([503, "shut_down"]);
    expect(facts(await failure(registry.openEmbedded({ dataDir: temporaryFolder() })))).toEqual(alreadyServing);
    expect((await failure(registry.waitReady())).metadata).toEqual({ reason: "shut down", state: "core registry" });
    expect(await registry.actorStopThresholdMs()).toBeNull();
  });

  test("can be shut down before it serves, and while it starts", async () => {
    const idle = new native.CoreRegistry();
    await idle.shutdown();
    expect(await health(idle)).toEqual([503, "shut_down"]);
    const starting = new native.CoreRegistry();
    const opened = starting.openEmbedded({ dataDir: temporaryFolder() });
    await starting.shutdown();
    await opened;
    expect(await health(starting)).toEqual([503, "shut_down"]);
  });

  test("may try again after a start that failed", async () => {
    const { dataDir, registry } = await stage({});
    const second = new native.CoreRegistry();
    const error = await failure(second.openEmbedded({ dataDir }));
    expect([error.group, error.code]).toEqual(["host", "data_dir_locked"]);
    expect((await failure(second.openEmbedded({ dataDir: "" }))).metadata.argument).toBe("dataDir");
    await registry.shutdown();
    await second.openEmbedded({ dataDir });
    await second.shutdown();
  });

  test("answers calls before it serves and after its end", async () => {
    const registry = new native.CoreRegistry();
    const target = { name: "thing", key: [] };
    expect((await failure(registry.localAction(target, "x", encode([])))).code).toBe("invalid_state");
    await registry.shutdown();
    expect((await failure(registry.localAction(target, "x", encode([])))).code).toBe("shut_down");
  });

  test.each([
    [{}, "needs an actorId, or a name"],
    [{ name: "thing", key: [], method: "make" }, "must be 'get' or 'getOrCreate', not 'make'"],
  ])("refuses the target %j", async (target, reason) => {
    const { registry } = await stage({});
    const error = await failure(registry.localAction(target as never, "x", encode([])));
    expect(error.metadata.reason).toBe(reason);
  });

  test("knows actors that do not exist", async () => {
    const { registry } = await stage({});
    for (const target of [
      { name: "thing", key: ["none"] },
      { name: "nothing", key: [], method: "getOrCreate" },
    ]) {
      const error = await failure(registry.localResolve(target as never));
      expect([error.group, error.code, error.statusCode]).toEqual(["actor", "not_found", 404]);
    }
    expect((await failure(registry.localDestroy("zz"))).code).toBe("not_found");
  });

  test("creates once and finds again", async () => {
    const { registry } = await stage({});
    const id = await registry.localCreate("thing", ["k"], encode({ in: 1 }));
    expect(id).toMatch(/^[a-z0-9]{30}$/);
    expect(await registry.localResolve({ name: "thing", key: ["k"] })).toBe(id);
    expect((await failure(registry.localCreate("thing", ["k"]))).code).toBe("duplicate_key");
    await registry.localDestroy(id);
    expect((await failure(registry.localResolve({ name: "thing", key: ["k"] }))).code).toBe("not_found");
  });
});

describe("a cancellation token", () => {
  test("tells its listeners once, later, with null", async () => {
    const token = new native.CancellationToken();
    const seen: unknown[] = [];
    token.onCancelled((...args) => seen.push(args));
    expect(token.aborted()).toBe(false);
    token.cancel();
    token.cancel();
    expect([token.aborted(), seen]).toEqual([true, []]);
    await null;
    const late = event();
    token.onCancelled(() => late.happen());
    await late.promise;
    expect(seen).toEqual([[null]]);
  });

  test("lets a listener that throws disturb nobody", async () => {
    const token = new native.CancellationToken();
    const told = event();
    token.onCancelled(() => {
      throw new Error("mine");
    });
    token.onCancelled(() => told.happen());
    token.cancel();
    await told.promise;
  });

  test("takes functions only", () => {
    expect(thrown(() => new native.CancellationToken().onCancelled(1 as never)).metadata.argument).toBe("callback");
  });
});
