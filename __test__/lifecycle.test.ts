import { describe, expect, test } from "vitest";
import { event, greenroom, registryOf, temporaryFolder } from "./fixtures/greenroom";
import { onEngine, outlives, unlessOnEngine } from "./fixtures/host";

const { actor } = greenroom;

const shared = unlessOnEngine("processes share an engine, and no data directory of theirs is locked");

/** An actor that notes its hooks, and tells when it sleeps and when it is gone. */
function diary(options: object = {}, extra: object = {}) {
  const notes: string[] = [];
  const asleep: { promise: Promise<void>; happen: () => void }[] = [];
  const gone = event();
  const page = actor({
    state: { n: 0 },
    onMigrate: (_c, isNew) => void notes.push(`migrate ${isNew}`),
    onCreate: () => void notes.push("create"),
    createVars: () => {
      notes.push("vars");
      return { since: notes.length };
    },
    onWake: () => void notes.push("wake"),
    onSleep: () => {
      notes.push("sleep");
      asleep.pop()?.happen();
    },
    onDestroy: () => {
      notes.push("destroy");
      gone.happen();
    },
    actions: {
      add: (c) => ++c.state.n,
      get: (c) => c.state.n,
      id: (c) => c.actorId,
      sleep: (c) => c.sleep(),
      destroy: (c) => c.destroy(),
    },
    options: { sleepGracePeriod: 2_000, ...options },
    ...extra,
  });
  const sleeps = () => {
    const next = event();
    asleep.push(next);
    return next.promise;
  };
  const count = (wanted: string) => notes.filter((note) => note === wanted).length;
  /** After a sleep: calls until a later generation answers. The one that goes to sleep still does. */
  const nextGeneration = async (handle: { get(): Promise<number> }) => {
    while (count("wake") <= count("sleep")) await handle.get();
  };
  return { page, notes, sleeps, nextGeneration, gone: gone.promise };
}

describe("a new actor", () => {
  test("migrates, is created, gets vars and wakes, in this order", async () => {
    const { page, notes } = diary();
    await registryOf({ page }).client().page.getOrCreate("a").get();
    expect(notes).toEqual(["migrate true", "create", "vars", "wake"]);
  });
});

describe("an idle actor", () => {
  test("sleeps after its timeout and wakes with its state, not created again", async () => {
    // Longer than the way of a call through an engine takes.
    const { page, notes, sleeps, nextGeneration } = diary({ sleepTimeout: onEngine ? 2_000 : 50 });
    const handle = registryOf({ page }).client().page.getOrCreate("a");
    const slept = sleeps();
    await handle.add();
    await slept;
    await nextGeneration(handle);
    expect(await handle.add()).toBe(2);
    expect(notes).toEqual(["migrate true", "create", "vars", "wake", "sleep", "migrate false", "vars", "wake"]);
  });

  test("stays awake for work it was told to wait for", async () => {
    const release = event();
    const { page, notes, sleeps } = diary(
      { sleepTimeout: 30 },
      {
        actions: {
          hold: (c: any) => void c.keepAwake(release.promise.then(() => notes.push("released"))),
        },
      },
    );
    const slept = sleeps();
    await (registryOf({ page }).client() as any).page.getOrCreate("a").hold();
    // Long enough for several timeouts of an actor that does not wait.
    setTimeout(release.happen, 200);
    await slept;
    expect(notes.indexOf("released")).toBeLessThan(notes.indexOf("sleep"));
  });
});

describe("an actor that asks for sleep", () => {
  test("goes to sleep, and a call that races with it is answered", async () => {
    const { page, notes, sleeps, nextGeneration } = diary();
    const handle = registryOf({ page }).client().page.getOrCreate("a");
    await handle.add();
    for (let round = 0; round < 10; round++) {
      const slept = sleeps();
      await handle.sleep();
      await Promise.all([slept, expect(handle.get()).resolves.toBe(1)]);
      await nextGeneration(handle);
    }
    expect(notes.filter((note) => note === "create")).toHaveLength(1);
    expect(notes.filter((note) => note === "sleep").length).toBeGreaterThanOrEqual(10);
  });

  test("keeps what its last hook and its open work changed", async () => {
    const { page, sleeps } = diary(
      {},
      {
        onSleep: (c: any) => {
          c.state.n += 10;
          slept.happen();
        },
        actions: {
          leave: (c: any) => {
            c.waitUntil(
              slept.promise.then(() => {
                c.state.n += 100;
              }),
            );
            c.sleep();
          },
          get: (c: any) => c.state.n,
        },
      },
    );
    const slept = event();
    expect(sleeps).toBeDefined();
    const handle = (registryOf({ page }).client() as any).page.getOrCreate("a");
    await handle.leave();
    await slept.promise;
    expect(await handle.get()).toBe(110);
  });

  test("has its signal fired", async () => {
    const aborted = event<boolean>();
    const { page } = diary(
      {},
      {
        onWake: (c: any) => c.abortSignal.addEventListener("abort", () => aborted.happen(c.aborted)),
      },
    );
    await registryOf({ page }).client().page.getOrCreate("a").sleep();
    expect(await aborted.promise).toBe(true);
  });
});

describe("a destroyed actor", () => {
  test("is gone with its data, and its key makes another one", async () => {
    const { page, notes, gone } = diary();
    const client = registryOf({ page }).client();
    const handle = client.page.getOrCreate("a");
    await handle.add();
    const id = await handle.id();
    await handle.destroy();
    await gone;
    await expect(client.page.getForId(id).get()).rejects.toMatchObject({ group: "actor" });
    expect(await handle.get()).toBe(0);
    expect(await handle.id()).not.toBe(id);
    expect(notes.filter((note) => note === "create")).toHaveLength(2);
    expect(notes).not.toContain("sleep");
  });
});

describe("run", () => {
  test("runs beside the calls, ends with the actor and starts with the next generation", async () => {
    const events: string[] = [];
    const ended = [event(), event()];
    const { page, sleeps, nextGeneration } = diary(
      {},
      {
        run: async (c: any) => {
          events.push("start");
          await new Promise<void>((resolve) => c.abortSignal.addEventListener("abort", () => resolve()));
          events.push("end");
          ended[events.length / 2 - 1]?.happen();
        },
      },
    );
    const registry = registryOf({ page });
    const handle = registry.client().page.getOrCreate("a");
    await handle.add();
    const slept = sleeps();
    await handle.sleep();
    await Promise.all([slept, ended[0]?.promise]);
    await nextGeneration(handle);
    expect(await handle.get()).toBe(1);
    await registry.shutdown();
    await ended[1]?.promise;
    expect(events).toEqual(["start", "end", "start", "end"]);
  });
});

describe("shutdown", () => {
  test("puts every live actor to sleep and saves it", async () => {
    const dataDir = temporaryFolder();
    const { page, notes } = diary({ stateSaveInterval: 60_000 });
    const registry = registryOf({ page }, { dataDir });
    await Promise.all(["a", "b", "c"].map((key) => registry.client().page.getOrCreate(key).add()));
    await registry.shutdown();
    expect(notes.filter((note) => note === "sleep")).toHaveLength(3);
    const again = registryOf({ page }, { dataDir }).client();
    expect(await Promise.all(["a", "b", "c"].map((key) => again.page.get(key).get()))).toEqual([1, 1, 1]);
  });

  test("refuses later calls with a structured error", outlives, async () => {
    const { page } = diary();
    const registry = registryOf({ page });
    const handle = registry.client().page.getOrCreate("a");
    await handle.add();
    await registry.shutdown();
    await expect(handle.add()).rejects.toMatchObject({ group: "registry", code: "shut_down" });
  });
});

describe("a second registry on the same folder", () => {
  test("gets a clear error until the first one is closed", shared, async () => {
    const dataDir = temporaryFolder();
    const { page } = diary();
    const first = registryOf({ page }, { dataDir });
    await first.client().page.getOrCreate("a").add();
    const second = registryOf({ page }, { dataDir });
    await expect(second.client().page.get("a").get()).rejects.toMatchObject({ group: "host", code: "data_dir_locked" });
    await first.shutdown();
    expect(await second.client().page.get("a").get()).toBe(1);
  });
});
