import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { greenroom, kitOf, temporaryFolder } from "./fixtures/greenroom";

const { actor, setup } = greenroom;

/** A counter that notes its hooks with the kit's time. */
function counted(options: object = {}) {
  const notes: string[] = [];
  const counter = actor({
    state: { n: 0 },
    onWake: () => void notes.push("wake"),
    onSleep: () => void notes.push("sleep"),
    actions: {
      add: (c) => ++c.state.n,
      addDurably: async (c) => {
        c.state.n++;
        await c.saveState({ immediate: true });
        return c.state.n;
      },
      get: (c) => c.state.n,
    },
    options,
  });
  return { counter, notes };
}

describe("a test kit", () => {
  test("runs a registry's actors in a folder of its own and removes it", async () => {
    const { counter } = counted();
    const registry = setup({ use: { counter } });
    const [first, second] = await Promise.all([kitOf(registry), kitOf(registry)]);
    await first.client.counter.getOrCreate(["a"]).add();
    expect(await second.client.counter.getOrCreate(["a"]).get()).toBe(0);
    expect(existsSync(first.dataDir)).toBe(true);
    await first.dispose();
    await first.dispose();
    expect(existsSync(first.dataDir)).toBe(false);
    expect(await second.client.counter.get(["a"]).get()).toBe(0);
  });

  test("keeps a folder that it was given", async () => {
    const { counter } = counted();
    const dataDir = temporaryFolder();
    const kit = await kitOf(setup({ use: { counter } }), { dataDir });
    await kit.client.counter.getOrCreate(["a"]).add();
    await kit.dispose();
    const again = await kitOf(setup({ use: { counter } }), { dataDir });
    expect(await again.client.counter.get(["a"]).get()).toBe(1);
  });

  test("refuses options it does not know, and to move a clock that is real", async () => {
    const { counter } = counted();
    const registry = setup({ use: { counter } });
    await expect(kitOf(registry, { clok: "manual" } as object)).rejects.toMatchObject({ code: "invalid_option" });
    await expect(kitOf(registry, { clock: "fast" as "real" })).rejects.toMatchObject({ code: "invalid_option" });
    const kit = await kitOf(registry);
    await expect(kit.advance("1h")).rejects.toMatchObject({ code: "invalid_option" });
  });
});

describe("a manual clock", () => {
  test("stands still, moves by exactly what it is told, and starts where it is told", async () => {
    const { counter } = counted();
    const kit = await kitOf(setup({ use: { counter } }), {
      clock: "manual",
      startAt: new Date("2030-01-01T00:00:00Z"),
    });
    const start = await kit.now();
    expect(new Date(start).toISOString()).toBe("2030-01-01T00:00:00.000Z");
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await kit.now()).toBe(start);
    await kit.advance("1.5h");
    await kit.advance(250);
    expect((await kit.now()) - start).toBe(5_400_250);
    await kit.advance("400d");
    expect((await kit.now()) - start).toBe(5_400_250 + 400 * 86_400_000);
    await expect(kit.advance("soon" as "1h")).rejects.toMatchObject({ code: "invalid_option" });
  });

  test("puts an idle actor to sleep at its time and not before, and has settled then", async () => {
    const { counter, notes } = counted({ sleepTimeout: 60_000 });
    const kit = await kitOf(setup({ use: { counter } }), { clock: "manual" });
    await kit.client.counter.getOrCreate(["a"]).add();
    await kit.advance("59s");
    expect(notes).toEqual(["wake"]);
    await kit.advance("2s");
    expect(notes).toEqual(["wake", "sleep"]);
    expect(await kit.client.counter.get(["a"]).get()).toBe(1);
    expect(notes).toEqual(["wake", "sleep", "wake"]);
  });

  test("saves at the save interval: what came before survives a crash, what came after does not", async () => {
    const { counter } = counted({ stateSaveInterval: 5_000 });
    const kit = await kitOf(setup({ use: { counter } }), { clock: "manual" });
    const handle = kit.client.counter.getOrCreate(["a"]);
    await handle.add();
    await kit.advance("6s");
    await handle.add();
    await kit.crash();
    expect(await handle.get()).toBe(1);
  });

  test("goes on after a crash where it stood", async () => {
    const { counter } = counted();
    const kit = await kitOf(setup({ use: { counter } }), { clock: "manual" });
    await kit.advance("2d");
    const before = await kit.now();
    await kit.crash();
    expect(await kit.now()).toBe(before);
  });
});

describe("a kit's crash", () => {
  test("runs no hook and keeps what was acknowledged", async () => {
    const { counter, notes } = counted();
    const kit = await kitOf(setup({ use: { counter } }));
    const handle = kit.client.counter.getOrCreate(["a"]);
    for (let round = 1; round <= 5; round++) {
      expect(await handle.addDurably()).toBe(round);
      await handle.add();
      await kit.crash();
      expect(await handle.get()).toBe(round);
    }
    expect(notes).not.toContain("sleep");
  });
});

describe("an evicted actor", () => {
  test("starts again from what is on disk; its neighbours notice nothing", async () => {
    const { counter, notes } = counted();
    const kit = await kitOf(setup({ use: { counter } }));
    const [a, b] = [kit.client.counter.getOrCreate(["a"]), kit.client.counter.getOrCreate(["b"])];
    await a.addDurably();
    await a.add();
    await b.add();
    await kit.evict(a);
    expect(await a.get()).toBe(1);
    expect(await b.get()).toBe(1);
    await kit.evict(await a.resolve());
    expect(notes).toEqual(["wake", "wake", "wake"]);
  });
});
