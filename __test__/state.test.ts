import { describe, expect, test } from "vitest";
import { greenroom, registryOf, temporaryFolder } from "./fixtures/greenroom";
import { onEngine } from "./fixtures/host";
import { cborOnlyValues, roundTripValues } from "./fixtures/values";

const { actor } = greenroom;

const values = [...roundTripValues, ...cborOnlyValues];
const vault = actor({
  state: { all: {} as Record<string, unknown>, nested: { list: [{ n: 0 }], map: new Map<string, { n: number }>() } },
  vars: { touched: 0 },
  actions: {
    fill: (c) => {
      for (const [name, value] of values) c.state.all[name] = value;
    },
    read: (c, name: string) => c.state.all[name],
    change: (c) => {
      const first = c.state.nested.list[0];
      if (first !== undefined) first.n++;
      c.state.nested.map.set("k", { n: 1 });
      const kept = c.state.nested.map.get("k");
      if (kept !== undefined) kept.n = 2;
      c.vars.touched++;
    },
    nested: (c) => [c.state.nested.list[0]?.n, c.state.nested.map.get("k")?.n, c.vars.touched],
    spoil: (c) => {
      c.state.all.fn = () => 0;
    },
    replace: (c, value: unknown) => {
      c.state = { ...c.state, all: { value } };
      return c.state;
    },
  },
});

/** Runs `use` on an actor, restarts everything, and runs `check` on it. */
async function overRestart(use: (handle: any) => Promise<unknown>, check: (handle: any) => Promise<unknown>) {
  const dataDir = temporaryFolder();
  const first = registryOf({ vault }, { dataDir });
  await use(first.client().vault.getOrCreate("v"));
  await first.shutdown();
  await check(registryOf({ vault }, { dataDir }).client().vault.get("v"));
}

describe("state", () => {
  test("keeps every kind of value over a restart", async () => {
    await overRestart(
      (handle) => handle.fill(),
      async (handle) => {
        for (const [name, value] of values) expect(await handle.read(name), name).toStrictEqual(value);
      },
    );
  });

  test("keeps nested changes that nobody asked to save, and forgets vars", async () => {
    await overRestart(
      (handle) => handle.change(),
      async (handle) => expect(await handle.nested()).toEqual([1, 2, 0]),
    );
  });

  test("refuses what it cannot keep, and stays as it was", async () => {
    const handle = registryOf({ vault }).client().vault.getOrCreate("v");
    // By way of an engine the caller is a stranger, who hears no more than that.
    await expect(handle.spoil()).rejects.toThrow(onEngine ? "internal error" : "state.all.fn is a function");
    expect(await handle.read("fn")).toBe(undefined);
  });

  test("can be replaced as a whole by a spread of itself", async () => {
    const handle = registryOf({ vault }).client().vault.getOrCreate("v");
    expect(await handle.replace(5)).toMatchObject({ all: { value: 5 }, nested: { list: [{ n: 0 }] } });
    expect(await handle.replace(6)).toMatchObject({ all: { value: 6 } });
  });
});
