import { describe, expect, test } from "vitest";
import { greenroom, registryOf, served, temporaryFolder } from "./fixtures/greenroom";
import { onEngine } from "./fixtures/host";

const { actor } = greenroom;

const created: string[] = [];
const counter = actor({
  createState: (_c, input: { start: number } | undefined) => ({ count: input?.start ?? 0 }),
  onCreate: (c) => {
    created.push(c.key.join("/"));
  },
  actions: {
    increment: async (c, by: number = 1) => {
      c.state.count += by;
      await c.saveState({ immediate: true });
      return c.state.count;
    },
    add: (c) => ++c.state.count,
    get: (c) => c.state.count,
    whoami: (c) => [c.actorId, c.name, c.key] as const,
  },
});

describe("a counter", () => {
  test("counts, inside the process and over HTTP, as one actor", async () => {
    const { local, clientIn } = await served({ counter });
    expect(await local.counter.getOrCreate(["a"]).increment()).toBe(1);
    expect(await clientIn("bare").counter.getOrCreate(["a"]).increment(2)).toBe(3);
    expect(await clientIn("json").counter.get("a").increment(4)).toBe(7);
    expect(await clientIn("cbor").counter.get("a").increment(8)).toBe(15);
    expect(await local.counter.get(["a"]).get()).toBe(15);
  });

  test("keeps its count over a restart, and the actors of two keys apart", async () => {
    const dataDir = temporaryFolder();
    const first = registryOf({ counter }, { dataDir });
    await first.client().counter.getOrCreate(["a"]).increment(5);
    await first.client().counter.getOrCreate(["a", "b"]).increment(7);
    await first.shutdown();
    const second = registryOf({ counter }, { dataDir }).client();
    expect(await second.counter.get(["a"]).get()).toBe(5);
    expect(await second.counter.get(["a", "b"]).get()).toBe(7);
  });

  test("is created once by many first calls, with the input of one of them", async () => {
    const client = registryOf({ counter }).client();
    created.length = 0;
    const starts = Array.from({ length: 50 }, (_, i) => (i + 1) * 1000);
    const counts = await Promise.all(
      starts.map((start) => client.counter.getOrCreate("race", { createWithInput: { start } }).add()),
    );
    expect(created).toEqual(["race"]);
    const start = Math.min(...counts) - 1;
    expect(starts).toContain(start);
    expect([...counts].sort((a, b) => a - b)).toEqual(starts.map((_, i) => start + i + 1));
  });

  test("knows itself, and is found by its id", async () => {
    const client = registryOf({ counter }).client();
    const [id, name, key] = await client.counter.getOrCreate(["x", "y/z", ""]).whoami();
    expect([name, key]).toEqual(["counter", ["x", "y/z", ""]]);
    expect(id).toMatch(/^[a-z0-9]{30}$/);
    expect(await client.counter.getForId(id).increment(3)).toBe(3);
    expect(await client.counter.get(["x", "y/z", ""]).resolve()).toBe(id);
  });

  // An engine resolves the key for each of them, and gives up on those that wait for long.
  const CALLS = onEngine ? 50 : 1000;

  test(`answers ${CALLS} increments in flight, each once`, async () => {
    const handle = registryOf({ counter }).client().counter.getOrCreate("many");
    const counts = await Promise.all(Array.from({ length: CALLS }, () => handle.add()));
    expect([...counts].sort((a, b) => a - b)).toEqual(Array.from({ length: CALLS }, (_, i) => i + 1));
  });
});
