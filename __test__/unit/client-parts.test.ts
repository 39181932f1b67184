import { describe, expect, test, vi } from "vitest";
import { createClient as createPageClient } from "../../ts/client/browser";
import { clientOver } from "../../ts/client/client";
import { createClientWith } from "../../ts/client/create";
import { partsWith } from "../../ts/client/parts";
import { jsCodec } from "../../ts/codec/index";
import { LocalTransport } from "../../ts/registry/local-transport";
import { bareOutput, FakeHost, json } from "../fixtures/fake-host";
import { FakeSocket } from "../fixtures/fake-socket";
import { withResolvers } from "../fixtures/with-resolvers";

describe("a client that loads its parts", () => {
  test("loads its encoding with the first call and keeps it, and asks again if that failed", async () => {
    const host = new FakeHost();
    let loads = 0;
    const whole = partsWith(jsCodec);
    const client = createClientWith({
      ...whole,
      formats: async (encoding) => {
        if (loads++ === 0) throw new TypeError("Failed to fetch dynamically imported module");
        return whole.formats(encoding);
      },
    })<any>("http://127.0.0.1:6420", { fetch: host.fetch }) as any;
    expect(loads).toBe(0);
    await expect(client.x.get("k").read()).rejects.toMatchObject({ code: "network_error", retryable: true });
    expect(host.requests).toEqual([]);
    host.answer(bareOutput(1), bareOutput(2));
    expect([await client.x.get("k").read(), await client.x.get("k").read()]).toEqual([1, 2]);
    expect(loads).toBe(2);
  });

  test("loads what serves raw requests and the endpoint's API with their first use, and asks again if that failed", async () => {
    const host = new FakeHost();
    const whole = partsWith(jsCodec);
    const loads = { rawHttp: 0, endpointApi: 0 };
    const late = <T>(name: keyof typeof loads, part: T) => {
      if (loads[name]++ === 0) throw new TypeError("Failed to fetch dynamically imported module");
      return part;
    };
    const client = createClientWith({
      ...whole,
      rawHttp: async () => late("rawHttp", await whole.rawHttp()),
      endpointApi: async () => late("endpointApi", await whole.endpointApi()),
    })<any>("http://127.0.0.1:6420", { fetch: host.fetch }) as any;
    const handle = client.x.get("a,b");
    host.answer(json({ actors: [{ actor_id: "found" }] }));
    for (const call of [() => handle.fetch("/"), () => handle.resolve()]) {
      await expect(call()).rejects.toMatchObject({ code: "network_error", retryable: true });
    }
    expect(host.requests).toEqual([]);
    expect(await handle.resolve()).toBe("found");
    host.answer(json({ actors: [{ actor_id: "found" }] }), new Response("hi"));
    expect(await (await handle.fetch("/")).text()).toBe("hi");
    expect(host.last.url.pathname).toBe("/gateway/found/request/");
  });

  test.each([
    ["formats", {}, 0],
    ["sockets", {}, 0],
    ["input", { createWithInput: 1 }, 1],
    ["endpointApi", { key: "a,b" }, 1],
  ] as const)(
    "opens no socket once it is disposed of, when its %s arrives",
    async (name, { key = "k", ...options }: any, asks) => {
      const host = new FakeHost();
      const opened: string[] = [];
      class Socket extends FakeSocket {
        constructor(url: string) {
          super();
          opened.push(url);
        }
      }
      const whole = partsWith(jsCodec) as any;
      const asked = withResolvers<void>();
      const code = withResolvers<unknown>();
      const late = async () => {
        asked.resolve();
        return code.promise;
      };
      const make = createClientWith({ ...whole, [name]: late })<any>;
      const client = make("http://127.0.0.1:6420", { fetch: host.fetch, WebSocket: Socket }) as any;
      const getParams = vi.fn(async () => 1);
      host.answer(json({ actor: { actor_id: "found" }, created: true }));
      client.x.getOrCreate(key, { ...options, getParams }).connect();
      await asked.promise;
      await client.dispose();
      code.resolve(await whole[name]("bare"));
      // Longer than everything that is here already takes.
      await new Promise((resolve) => setImmediate(resolve));
      expect(opened).toEqual([]);
      expect(getParams).toHaveBeenCalledTimes(asks);
    },
  );

  test("ends a connection whose signal has fired already, and has nothing to wait for then", async () => {
    const host = new FakeHost();
    const client = createPageClient<any>("http://127.0.0.1:6420", { fetch: host.fetch }) as any;
    const connection = client.x.get("k").connect(undefined, { signal: AbortSignal.abort() });
    await expect(connection.ready).rejects.toMatchObject({ code: "connection_disposed" });
    // What a listener of a signal throws would end the process, and this run.
    await new Promise((resolve) => setImmediate(resolve));
    await client.dispose();
    expect(host.requests).toEqual([]);
  });

  test("says what is wrong with an input, and not that its code was lost", async () => {
    const host = new FakeHost();
    const client = createPageClient<any>("http://127.0.0.1:6420", { fetch: host.fetch }) as any;
    const input = {
      get seats() {
        throw new RangeError("mine");
      },
    };
    for (const call of [
      () => client.x.getOrCreate("k", { createWithInput: input }).read(),
      () => client.x.create("k", { input }),
    ]) {
      await expect(call()).rejects.toThrow(new RangeError("mine"));
    }
    const unencodable = client.x.create("k", { input: { fn: () => 0 } });
    await expect(unencodable).rejects.toMatchObject({ group: "napi", metadata: { argument: "input.fn" } });
    expect(host.requests).toEqual([]);
  });

  test.each([
    ["no details", {}],
    ["plain ones", { seats: 3 }],
    ["a BigInt as it is written", { seats: ["$BigInt", "3"] }],
  ])("keeps the error of a reply when the code that reads its details cannot be loaded: %s", async (_, metadata) => {
    const host = new FakeHost();
    const whole = partsWith(jsCodec);
    const client = createClientWith({
      ...whole,
      formats: async (encoding) => {
        if (encoding === "json") throw new TypeError("Failed to fetch dynamically imported module");
        return whole.formats(encoding);
      },
    })<any>("http://127.0.0.1:6420", { fetch: host.fetch }) as any;
    host.answer(json({ group: "user", code: "full", message: "no seats", metadata }, 400));
    const error = { group: "user", code: "full", message: "no seats", metadata, statusCode: 400 };
    await expect(client.x.get("k").join()).rejects.toMatchObject(error);
  });
});

test("a client inside the process opens no socket once it is disposed of, when its registry has opened", async () => {
  const asked = withResolvers();
  const registry = withResolvers<unknown>();
  const localSocket = vi.fn();
  const open = () => {
    asked.resolve();
    return registry.promise as Promise<never>;
  };
  const native = () => ({}) as never;
  const client = clientOver<any>(new LocalTransport(open, { codec: jsCodec, native })) as any;
  client.x.get("k").connect();
  await asked.promise;
  await client.dispose();
  registry.resolve({ localSocket });
  await new Promise((resolve) => setImmediate(resolve));
  expect(localSocket).not.toHaveBeenCalled();
});
