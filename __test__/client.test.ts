import { AsyncLocalStorage } from "node:async_hooks";
import { describe, expect, test } from "vitest";
import { jsCodec } from "../ts/codec/index";
import { event, greenroom, registryOf, served } from "./fixtures/greenroom";
import { onEngine, outlives, unlessOnEngine } from "./fixtures/host";
import { cborOnlyValues, largeText, roundTripValues } from "./fixtures/values";

const { actor } = greenroom;
const storage = new AsyncLocalStorage<string>();

const throughEngine = unlessOnEngine("a call goes out to the engine and comes back as a stranger's");

const echo = actor({
  createConnState: (_c, params: { name: string } | null) => ({ name: params?.name ?? "nobody" }),
  actions: {
    back: (_c, ...args: unknown[]) => args,
    who: (c) => c.conn.state.name,
    params: (c) => c.conn.params,
    store: async () => storage.getStore(),
    grp: { sub: { deep: (_c, n: number) => n * 2 } },
    relay: (c, value: unknown) => c.client<any>().echo.getOrCreate("other").back(value),
    hang: () => new Promise<never>(() => {}),
  },
  // The action that hangs must not hold the end of its test up.
  options: { sleepGracePeriod: 100 },
});

describe("values", () => {
  test("come back as they were sent, inside the process and in every encoding", async () => {
    const { local, clientIn } = await served({ echo });
    const clients = { local, bare: clientIn("bare"), cbor: clientIn("cbor"), json: clientIn("json") };
    for (const [encoding, client] of Object.entries(clients)) {
      const handle = client.echo.getOrCreate("a");
      const plain = encoding === "local" || encoding === "bare" ? [...roundTripValues, ...cborOnlyValues] : jsonValues;
      for (const [name, value] of plain) {
        expect(await handle.back(value, 1), `${encoding}: ${name}`).toStrictEqual([value, 1]);
      }
      expect(await handle.back(), encoding).toEqual([]);
    }
  });

  test("of more than the limit are refused over HTTP, and go through inside the process", async () => {
    const { local, clientIn } = await served({ echo });
    const refused = (client: typeof local) =>
      expect(client.echo.getOrCreate("a").back(largeText)).rejects.toMatchObject({
        group: "message",
        code: "incoming_too_long",
      });
    await refused(clientIn());
    // By way of an engine nothing stays inside the process.
    if (onEngine) await refused(local);
    else expect(await local.echo.getOrCreate("a").back(largeText)).toEqual([largeText]);
  });

  test("pass from actor to actor", async () => {
    const client = registryOf({ echo }).client();
    for (const [name, value] of roundTripValues) {
      expect(await client.echo.getOrCreate("a").relay(value), name).toStrictEqual([value]);
    }
  });
});

/** Not in JSON: its numbers have no sign of zero and no infinities. */
const jsonValues = roundTripValues.filter(([name]) => !["negative zero", "not a number and infinities"].includes(name));

describe("a client", () => {
  test("calls nested actions", async () => {
    const { local, clientIn } = await served({ echo });
    for (const client of [local, clientIn()]) expect(await client.echo.getOrCreate("a").grp.sub.deep(4)).toBe(8);
  });

  test("hands its params to the connection", async () => {
    const { local, clientIn } = await served({ echo });
    for (const client of [local, clientIn("bare"), clientIn("json")]) {
      const handle = client.echo.getOrCreate("a", { params: { name: "Zoë" } });
      expect([await handle.who(), await handle.params()]).toEqual(["Zoë", { name: "Zoë" }]);
      expect(await client.echo.getOrCreate("a").who()).toBe("nobody");
    }
  });

  test("inside the process keeps the caller's async context", throughEngine, async () => {
    const client = registryOf({ echo }).client();
    const handle = client.echo.getOrCreate("a");
    const seen = await Promise.all(["one", "two"].map((name) => storage.run(name, () => handle.store())));
    expect(seen).toEqual(["one", "two"]);
    expect(await handle.store()).toBe(undefined);
  });

  test("stops waiting when its signal fires", async () => {
    const { local, clientIn } = await served({ echo });
    for (const client of [local, clientIn()]) {
      const controller = new AbortController();
      const started = event();
      const call = client.echo.getOrCreate("a").action({ name: "hang", args: [], signal: controller.signal });
      setImmediate(started.happen);
      await started.promise;
      controller.abort(new Error("enough"));
      await expect(call).rejects.toThrow("enough");
    }
  });

  test("of a host that is gone gets a network error", outlives, async () => {
    const { registry, clientIn } = await served({ echo });
    const client = clientIn();
    await registry.shutdown();
    await expect(client.echo.getOrCreate("a").back(1)).rejects.toMatchObject({
      group: "client",
      code: "network_error",
    });
  });
});

describe("the native codec", () => {
  test("reads and writes what the JavaScript one does", () => {
    const { encodeCbor, decodeCbor } = greenroom;
    for (const [name, value] of [...roundTripValues, ...cborOnlyValues]) {
      expect(jsCodec.decode(encodeCbor(value)), name).toStrictEqual(value);
      // Compared as bytes: native code decodes to Buffers, which are Uint8Arrays.
      const bytes = jsCodec.encode(value);
      expect(jsCodec.encode(decodeCbor(bytes)), name).toEqual(bytes);
    }
    expect(decodeCbor(new Uint8Array())).toBe(undefined);
    expect(() => encodeCbor({ user: { fn: () => 0 } })).toThrow(/user\.fn/);
  });
});
