/** Serializers that fail, hang or are late. */
import { describe, expect, test } from "vitest";
import { decode, encode, failure, native, nothingToSave, stage, temporaryFolder } from "./addon";

/** An actor that counts; `serialize` gets what an honest serializer would answer. */
function counting(serialize: (honest: () => object) => unknown) {
  let count = 0;
  const honest = () => ({ ...nothingToSave, state: encode(count) });
  return {
    createState: () => encode(0),
    onWake: (_: unknown, { ctx }: any) => {
      count = decode(ctx.state());
    },
    serializeState: () => serialize(honest),
    actions: {
      add: async (_: unknown, { ctx }: any) => {
        count++;
        await ctx.requestSaveAndWait({ immediate: true });
        return encode(count);
      },
      addLater: (_: unknown, { ctx }: any) => {
        count++;
        ctx.requestSave({ immediate: false });
        return encode(count);
      },
      get: () => encode(count),
    },
  };
}

/** The same on a clock that is moved by hand until something has happened. */
async function onManualClock(callbacks: object, dataDir: string) {
  const registry = new native.CoreRegistry();
  registry.register("thing", new native.NapiActorFactory(callbacks, { sleepGracePeriodMs: 1_000 }));
  await registry.openEmbedded({ dataDir, clock: "manual" });
  const target = { name: "thing", key: ["a"], method: "getOrCreate" as const };
  const call = async (action: string) => decode(await registry.localAction(target, action, encode([])));
  const until = async (promise: Promise<unknown>) => {
    let settled = false;
    const done = () => {
      settled = true;
    };
    promise.then(done, done);
    while (!settled) await registry.advanceClock(20_000).catch(done);
    return promise;
  };
  return { registry, call, until };
}

describe("a serializer that throws", () => {
  test("is asked again at the save interval, and whoever waits is answered then", async () => {
    let failures = 3;
    const { call, registry } = await stage(
      counting((honest) => {
        if (failures-- > 0) throw new Error("not now");
        return honest();
      }),
      { stateSaveIntervalMs: 20 },
    );
    expect(await call("add")).toBe(1);
    expect(failures).toBe(-1);
    await registry.shutdown();
  });

  test("for ever leaves the state on disk as it was, and tells who waits at the end", async () => {
    const dataDir = temporaryFolder();
    let broken = false;
    const serialize = (honest: () => object) => {
      if (broken) throw new Error("never again");
      return honest();
    };
    const first = await stage(counting(serialize), { stateSaveIntervalMs: 20 }, dataDir);
    await first.call("add");
    broken = true;
    const waiting = failure(first.call("add"));
    await first.call("get");
    await first.registry.shutdown();
    expect((await waiting).group).toBe("actor");
    broken = false;
    const second = await stage(counting(serialize), {}, dataDir);
    expect(await second.call("get")).toBe(1);
  });
});

describe("a serializer that does not answer in time", () => {
  test("holds up the end as long as it may, its late answer changes nothing", async () => {
    const dataDir = temporaryFolder();
    let late = () => {};
    let hanging = false;
    const serialize = (honest: () => object) => {
      if (!hanging) return honest();
      return new Promise((resolve) => {
        late = () => resolve(honest());
      });
    };
    const first = await onManualClock(counting(serialize), dataDir);
    await first.call("add");
    hanging = true;
    await first.call("addLater");
    const ended = first.registry.shutdown().then(() => "ended");
    expect(await first.until(ended)).toBe("ended");
    late();
    hanging = false;
    const second = await onManualClock(counting(serialize), dataDir);
    expect(await second.call("get")).toBe(1);
    await second.until(second.registry.shutdown());
  });
});
