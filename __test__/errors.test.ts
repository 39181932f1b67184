import { describe, expect, test } from "vitest";
import { greenroom, registryOf, served } from "./fixtures/greenroom";
import { onEngine, unlessOnEngine } from "./fixtures/host";

const { actor, UserError } = greenroom;
const never = new Promise<never>(() => {});

const anyName = unlessOnEngine("an engine makes actors of any name, which then do not start");

const faulty = actor({
  state: { n: 0 },
  actions: {
    user: () => {
      throw new UserError("no seats", { code: "full", metadata: { seats: 0, big: 5n } });
    },
    plain: () => {
      throw new Error("secret");
    },
    rejects: () => Promise.reject(new Error("secret")),
    nothing: () => Promise.reject(),
    unserializable: () => ({ fn: () => 0 }),
    add: (c) => ++c.state.n,
  },
});

// Of its own, so that a busy machine does not time out the others.
const slow = actor({ actions: { hangs: () => never }, options: { actionTimeout: 100, sleepGracePeriod: 100 } });

describe("a failing action", () => {
  const cases: [keyof typeof inProcess, object, object][] = [];
  const inProcess = {
    user: { group: "user", code: "full", message: "no seats", metadata: { seats: 0, big: 5n } },
    plain: { group: "rivetkit", code: "internal_error" },
    rejects: { group: "rivetkit", code: "internal_error" },
    nothing: { group: "rivetkit", code: "internal_error" },
    unserializable: { group: "napi", code: "invalid_argument" },
  };
  const masked = { message: "An internal error occurred" };
  for (const name of Object.keys(inProcess) as (keyof typeof inProcess)[]) {
    const remote = name === "user" ? {} : masked;
    // By way of an engine a registry's own client is a stranger, too.
    cases.push([name, { ...inProcess[name], ...(onEngine && remote) }, { ...inProcess[name], ...remote }]);
  }

  test.each(cases)("gives its caller the right error and lets the actor go on: %s", async (name, local, remote) => {
    const { local: client, clientIn } = await served({ faulty });
    await expect(client.faulty.getOrCreate("a")[name]()).rejects.toMatchObject(local);
    for (const encoding of ["bare", "cbor", "json"] as const) {
      const handle = clientIn(encoding).faulty.getOrCreate("a");
      await expect(handle[name](), encoding).rejects.toMatchObject({ name: "ActorError", ...remote });
      await expect(handle[name](), encoding).rejects.not.toThrow("secret");
    }
    expect(await client.faulty.get("a").add()).toBe(1);
  });

  test("that hangs is given up after its timeout", async () => {
    const { local, clientIn } = await served({ slow });
    for (const client of [local, clientIn("bare"), clientIn("json")]) {
      const call = client.slow.getOrCreate("a").hangs();
      await expect(call).rejects.toMatchObject({ group: "actor", code: "action_timed_out" });
    }
  });

  test("is an ActorError of this package on both sides", async () => {
    const { local, clientIn } = await served({ faulty });
    for (const client of [local, clientIn()]) {
      const error = await client.faulty
        .getOrCreate("a")
        .user()
        .catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(greenroom.ActorError);
      expect(error).toBeInstanceOf(Error);
    }
  });
});

describe("a call without an actor or action", () => {
  test("names what is missing", async () => {
    const { local, clientIn } = await served({ faulty });
    for (const client of [local, clientIn("bare"), clientIn("json")]) {
      const missing = { group: "actor", code: "not_found" };
      await expect(client.faulty.get("missing").add()).rejects.toMatchObject(missing);
      await expect(client.faulty.get("missing").resolve()).rejects.toMatchObject(missing);
      const unknown = client.faulty.getOrCreate("a").action({ name: "nope", args: [] });
      await expect(unknown).rejects.toMatchObject({ group: "actor", code: "action_not_found" });
    }
  });

  test("cannot create a key twice", async () => {
    const { local, clientIn } = await served({ faulty });
    const [a, b] = [local, clientIn()];
    const first = await a.faulty.create("once");
    // What an engine says depends on where it comes upon the first one.
    const code = onEngine ? /^(duplicate_key|destroyed_during_creation)$/ : /^duplicate_key$/;
    for (const client of [a, b]) {
      const refusal = { group: "actor", code: expect.stringMatching(code) };
      await expect(client.faulty.create("once")).rejects.toMatchObject(refusal);
    }
    expect(await first.resolve()).toBe(await b.faulty.get("once").resolve());
  });

  test("cannot use an actor type that is not registered", anyName, async () => {
    const { local } = await served({ faulty });
    const handle = local.getOrCreate<any>("unknown", "a");
    await expect(handle.add()).rejects.toMatchObject({ group: "actor" });
  });
});

describe("a failing hook", () => {
  test.each<[string, object]>([
    ["createState", { state: undefined, createState: () => Promise.reject(new UserError("no state")) }],
    ["onCreate", { onCreate: () => Promise.reject(new UserError("no create")) }],
    ["createVars", { createVars: () => Promise.reject(new UserError("no vars")) }],
    ["onWake", { onWake: () => Promise.reject(new UserError("no wake")) }],
    ["onBeforeConnect", { onBeforeConnect: () => Promise.reject(new UserError("not you")) }],
    ["onConnect", { onConnect: () => Promise.reject(new UserError("not you")) }],
  ])("fails the calls with a structured error, others go on: %s", async (_, hooks) => {
    const broken = actor({ state: { n: 0 }, actions: { get: (c: any) => c.state.n }, ...hooks } as object);
    const client = registryOf({ broken, faulty }).client();
    const call = (client as any).broken.getOrCreate("a").get();
    await expect(call).rejects.toMatchObject({
      name: "ActorError",
      group: expect.any(String),
      code: expect.any(String),
    });
    expect(await client.faulty.getOrCreate("a").add()).toBe(1);
  });

  test("after the call does not harm anybody", async () => {
    const loud = actor({
      state: { n: 0 },
      onStateChange: () => {
        throw new Error("state change");
      },
      onDisconnect: () => Promise.reject(new Error("disconnect")),
      onSleep: () => Promise.reject(new Error("sleep")),
      run: () => Promise.reject(new Error("run")),
      actions: { add: (c) => ++c.state.n, sleep: (c) => c.sleep() },
    });
    const handle = registryOf({ loud }).client().loud.getOrCreate("a");
    expect([await handle.add(), await handle.add()]).toEqual([1, 2]);
    await handle.sleep();
    expect(await handle.add()).toBe(3);
  });
});
