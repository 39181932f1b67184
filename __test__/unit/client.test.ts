import { describe, expect, test, vi } from "vitest";
import { clientConfig } from "../../ts/client/config";
import { createClientWith } from "../../ts/client/create";
import { fromEnvironment } from "../../ts/client/environment";
import { createClient } from "../../ts/client/index";
import { partsWith } from "../../ts/client/parts";
import { fromBase64 } from "../../ts/codec/base64";
import { jsCodec } from "../../ts/codec/index";
import { bareArgs, bareError, bareOutput, FakeHost, json } from "../fixtures/fake-host";
import { roundTripValues } from "../fixtures/values";

const setUp = (options: object = {}) => {
  const host = new FakeHost();
  const client = createClient<any>("http://127.0.0.1:6420", { fetch: host.fetch, ...options }) as any;
  return { host, client };
};

describe("an action call", () => {
  test("is a POST to the query gateway with the protocol's headers and body", async () => {
    const { host, client } = setUp();
    host.answer(bareOutput(4));
    expect(await client.counter.getOrCreate(["c1", "a/b"]).increment(4)).toBe(4);
    const { method, url, headers, body } = host.last;
    expect(method).toBe("POST");
    expect(url.pathname + url.search).toBe(
      "/gateway/counter/action/increment?rvt-namespace=default&rvt-method=getOrCreate&rvt-runner=default&rvt-key=c1%2Ca%2Fb&rvt-crash-policy=sleep",
    );
    expect(Buffer.from(body).toString("hex")).toBe("0400028104");
    expect(headers.get("x-rivet-encoding")).toBe("bare");
    expect(headers.get("content-type")).toBe("application/octet-stream");
  });

  test("on get sends no creation parameters, on an id goes the direct way", async () => {
    const { host, client } = setUp({ token: "my token" });
    host.answer(bareOutput(null), bareOutput(null));
    await client.counter.get("k").read();
    expect(host.last.url.search).toBe("?rvt-namespace=default&rvt-method=get&rvt-key=k&rvt-token=my+token");
    await client.counter.getForId("id1").read();
    expect(host.last.url.pathname).toBe("/gateway/id1@my%20token/action/read");
    expect(host.last.headers.get("x-rivet-token")).toBe("my token");
  });

  test("flattens nested actions and escapes their names", async () => {
    const { host, client } = setUp();
    host.answer(bareOutput(1), bareOutput(2));
    await client.counter.get("k").grp.sub.deep(1);
    expect(host.last.url.pathname).toBe("/gateway/counter/action/grp.sub.deep");
    await client.counter.get("k").action({ name: "a/b c", args: [] });
    expect(host.last.url.pathname).toBe("/gateway/counter/action/a%2Fb%20c");
  });

  test("carries params as ASCII JSON and custom headers, but no fixed trace", async () => {
    const { host, client } = setUp({ headers: { "x-mine": "1", TraceParent: "00-x" } });
    host.answer(bareOutput(null));
    await client.counter.get("k", { params: { name: "Jürgen 🎭" } }).read();
    const { headers } = host.last;
    expect(headers.get("x-mine")).toBe("1");
    expect(headers.get("traceparent")).toBe(null);
    const params = headers.get("x-rivet-conn-params") ?? "";
    expect(params).toMatch(/^[ -~]+$/);
    expect(JSON.parse(params)).toEqual({ name: "Jürgen 🎭" });
  });

  test("sends creation input in the URL, and a large one through the endpoint API first", async () => {
    const { host, client } = setUp();
    host.answer(bareOutput(null));
    await client.counter.getOrCreate("k", { createWithInput: { start: 1n }, createInRegion: "eu" }).read();
    const input = fromBase64(host.last.url.searchParams.get("rvt-input") ?? "");
    expect(jsCodec.decode(input)).toEqual({ start: 1n });
    expect(host.last.url.searchParams.get("rvt-region")).toBe("eu");

    host.answer(json({ actor: { actor_id: "big" }, created: true }), bareOutput(7));
    const large = "x".repeat(5000);
    expect(await client.counter.getOrCreate("k", { createWithInput: large }).read()).toBe(7);
    const [created, called] = host.requests.slice(-2);
    expect(created).toMatchObject({ method: "PUT" });
    const body = JSON.parse(Buffer.from(created?.body ?? []).toString());
    expect(jsCodec.decode(fromBase64(body.input))).toBe(large);
    expect(called?.url.pathname).toBe("/gateway/big/action/read");
  });

  test.each([[["x,y"]], [[""]]])(
    "finds the actor of key %j by id, for the query form would name another",
    async (key) => {
      const { host, client } = setUp();
      host.answer(json({ actor: { actor_id: "exact" }, created: false }), bareOutput(1));
      await client.counter.getOrCreate(key).read();
      expect(host.requests.map(({ method, url }) => `${method} ${url.pathname}`)).toEqual([
        "PUT /actors",
        "POST /gateway/exact/action/read",
      ]);
    },
  );

  test("does not follow later changes of the key array", async () => {
    const { host, client } = setUp();
    const key = ["a"];
    const handle = client.counter.get(key);
    key[0] = "b";
    host.answer(bareOutput(1));
    await handle.read();
    expect(host.last.url.searchParams.get("rvt-key")).toBe("a");
  });
});

describe("values", () => {
  test.each(roundTripValues)("reach the actor in bare encoding: %s", async (_, value) => {
    const { host, client } = setUp();
    host.answer(() => bareOutput(bareArgs(host.last.body)));
    expect(await client.x.get("k").echo(value)).toStrictEqual([value]);
  });

  test.each(["json", "cbor"])("keep bigint, bytes and undefined in %s encoding", async (encoding) => {
    const { host, client } = setUp({ encoding });
    const reply =
      encoding === "json" ? json({ output: ["$BigInt", "5"] }) : new Response(jsCodec.encode({ output: 5n }));
    host.answer(reply);
    expect(await client.x.get("k").echo(5n, new Uint8Array([1]), undefined)).toBe(5n);
    const { body, headers } = host.last;
    expect(headers.get("x-rivet-encoding")).toBe(encoding);
    const sent: unknown = encoding === "json" ? JSON.parse(Buffer.from(body).toString()) : jsCodec.decode(body);
    const plain = { args: [5n, new Uint8Array([1]), undefined] };
    const tagged = {
      args: [
        ["$BigInt", "5"],
        ["$Uint8Array", "AQ=="],
        ["$Undefined", 0],
      ],
    };
    expect(sent).toStrictEqual(encoding === "json" ? tagged : plain);
  });

  test("that cannot be encoded fail the call before any request", async () => {
    const { host, client } = setUp();
    await expect(client.x.get("k").echo({ fn: () => 0 })).rejects.toThrow("args[0].fn");
    expect(host.requests).toEqual([]);
  });
});

describe("an error reply", () => {
  test("is an ActorError with everything the host said", async () => {
    const { host, client } = setUp();
    host.answer(bareError(500, "user", "full", "no seats", { seats: 0n }));
    await expect(client.x.get("k").join()).rejects.toMatchObject({
      name: "ActorError",
      group: "user",
      code: "full",
      message: "no seats",
      metadata: { seats: 0n },
      actor: { actorId: "actor-id", generation: 2, key: "a/b" },
      rayId: "ray1",
      retryable: false,
    });
  });

  test("in JSON is understood whatever encoding was asked for", async () => {
    const { host, client } = setUp();
    host.answer(json({ group: "actor", code: "not_found", message: "gone" }, 404));
    await expect(client.x.get("k").join()).rejects.toMatchObject({ group: "actor", code: "not_found" });
  });

  test.each([
    ["an HTML page", () => new Response("<html>Bad Gateway</html>", { status: 502 }), 502, "Bad Gateway"],
    ["an empty body", () => new Response(null, { status: 504, statusText: "Gateway Timeout" }), 504, "Gateway Timeout"],
    ["a good status with garbage", () => new Response("nonsense"), 200, "cannot be read"],
    ["a later protocol", () => new Response(new Uint8Array([5, 0, 1, 0xf6])), 200, "protocol version 5"],
  ])("that is no protocol message is reported as such: %s", async (_, reply, status, text) => {
    const { host, client } = setUp();
    host.answer(reply);
    const error = await client.x
      .get("k")
      .join()
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ group: "client", code: "invalid_response", metadata: { status } });
    expect((error as Error).message).toContain(text);
  });

  test("in JSON has its details as the actor meant them, in every encoding", async () => {
    for (const encoding of ["bare", "cbor", "json"]) {
      const { host, client } = setUp({ encoding });
      const actor = { actorId: "a", generation: 2, key: "k" };
      const metadata = { seats: ["$BigInt", "3"], left: 0 };
      host.answer(json({ group: "user", code: "full", message: "no seats", metadata, actor }, 400));
      await expect(client.x.get("k").join()).rejects.toMatchObject({ metadata: { seats: 3n, left: 0 }, actor });
    }
  });

  test("of an older protocol version carries no actor", async () => {
    const { host, client } = setUp();
    const v3 = Uint8Array.from([3, 0, 1, 0x67, 1, 0x63, 1, 0x6d, 0]);
    host.answer(new Response(v3, { status: 500 }));
    await expect(client.x.get("k").join()).rejects.toMatchObject({ group: "g", code: "c", message: "m" });
  });

  test("of the network is retryable and names the reason", async () => {
    const { host, client } = setUp();
    host.answer(new TypeError("fetch failed", { cause: Object.assign(new Error("x"), { code: "ECONNREFUSED" }) }));
    await expect(client.x.get("k").join()).rejects.toMatchObject({
      group: "client",
      code: "network_error",
      message: expect.stringContaining("ECONNREFUSED"),
      retryable: true,
    });
    expect(host.requests).toHaveLength(1);
  });
});

describe("a refused call", () => {
  test.each(["starting", "not_ready", "restarting"])("is made again while the actor is %s", async (code) => {
    const { host, client } = setUp();
    host.answer(bareError(500, "actor", code, "wait"), bareError(500, "actor", code, "wait"), bareOutput(1));
    expect(await client.x.getForId("id").read()).toBe(1);
    expect(host.requests).toHaveLength(3);
  });

  test("on a key outlives the destruction of one actor", async () => {
    const { host, client } = setUp();
    host.answer(bareError(500, "actor", "destroying", "…"), bareError(404, "actor", "not_found", "…"), bareOutput(1));
    expect(await client.x.getOrCreate("k").read()).toBe(1);
  });

  test.each([
    ["not_found on get", "get", "not_found"],
    ["destroying on an id", "getForId", "destroying"],
    ["a dropped reply, for the action may have run", "getOrCreate", "dropped_reply"],
    ["an actor that stopped in the middle", "getOrCreate", "stopping"],
  ])("is not made again after %s", async (_, method, code) => {
    const { host, client } = setUp();
    host.answer(bareError(500, "actor", code, "…"));
    await expect(client.x[method]("k").read()).rejects.toMatchObject({ code });
    expect(host.requests).toHaveLength(1);
  });

  test("by an actor that stopped is made again, unless a gateway had delivered it", async () => {
    const { host, client } = setUp();
    const stopped = (phase: string) => () =>
      json({ group: "guard", code: "actor_stopped_while_waiting", message: "…", metadata: { phase } }, 503);
    host.answer(stopped("request"), bareOutput(1));
    expect(await client.x.get("k").read()).toBe(1);
    host.answer(stopped("waiting_for_response_start"), bareOutput(2));
    const call = client.x.get("k").read();
    await expect(call).rejects.toMatchObject({ code: "actor_stopped_while_waiting", retryable: true });
    expect(host.requests).toHaveLength(3);
  });

  test("stops being made when its signal fires", async () => {
    const { host, client } = setUp();
    const controller = new AbortController();
    host.answer(() => {
      setTimeout(() => controller.abort(new Error("enough")), 5);
      return bareError(500, "actor", "starting", "wait");
    });
    const call = client.x.get("k").action({ name: "read", args: [], signal: controller.signal });
    await expect(call).rejects.toThrow("enough");
    expect(host.requests).toHaveLength(1);
  });
});

describe("an aborted call", () => {
  test("rejects with the signal's reason, from the handle or from the call", async () => {
    const { client } = setUp();
    const aborted = AbortSignal.abort(new Error("gone"));
    await expect(client.x.get("k", { signal: aborted }).read()).rejects.toThrow("gone");
    const live = new AbortController().signal;
    const call = client.x.get("k", { signal: live }).action({ name: "read", args: [], signal: aborted });
    await expect(call).rejects.toThrow("gone");
  });
});

describe("resolve and create", () => {
  test("use the endpoint API with serialized keys", async () => {
    const { host, client } = setUp({ token: "t", namespace: "ns" });
    host.answer(json({ actors: [{ actor_id: "found" }] }));
    expect(await client.x.get(["a/b", "", "c"]).resolve()).toBe("found");
    expect(host.last.url.searchParams.get("key")).toBe("a\\/b/\\0/c");
    expect(host.last.url.search).toMatch(/namespace=ns$/);
    expect(host.last.headers.get("authorization")).toBe("Bearer t");

    host.answer(json({ actor: { actor_id: "new" } }), bareOutput(1));
    const handle = await client.x.create([], { input: 0, region: "eu" });
    expect(JSON.parse(Buffer.from(host.last.body).toString())).toEqual({
      datacenter: "eu",
      name: "x",
      key: "/",
      runner_name_selector: "default",
      input: "AA==",
      crash_policy: "sleep",
    });
    expect(await handle.resolve()).toBe("new");
    await handle.read();
    expect(host.last.url.pathname).toBe("/gateway/new@t/action/read");
  });

  test("say not_found for a key without an actor, and pass the host's errors on", async () => {
    const { host, client } = setUp();
    host.answer(json({ actors: [] }));
    await expect(client.x.get("k").resolve()).rejects.toMatchObject({ group: "actor", code: "not_found" });
    host.answer(json({ group: "actor", code: "duplicate_key", message: "taken", metadata: { key: "k" } }, 400));
    await expect(client.x.create("k")).rejects.toMatchObject({ code: "duplicate_key", metadata: { key: "k" } });
  });
});

describe("the names of a handle", () => {
  test("are its methods, and actions otherwise, also where an action has a method's name inside of a group", async () => {
    const { host, client } = setUp();
    const handle = client.x.get("k");
    host.answer(bareOutput(1), bareOutput(2), bareOutput(3));
    await handle.queue("an action");
    expect(host.last.url.pathname).toBe("/gateway/x/action/queue");
    await handle.queue.size();
    expect(host.last.url.pathname).toBe("/gateway/x/action/queue.size");
    await handle.group.send.connect();
    expect(host.last.url.pathname).toBe("/gateway/x/action/group.send.connect");
    expect(["send" in handle, "queue" in handle, "constructor" in handle]).toEqual([true, false, false]);
  });
});

describe("a queue send", () => {
  test("without wait resolves to nothing, with wait to the completion", async () => {
    const { host, client } = setUp();
    const completed = Buffer.from(
      "040009636f6d706c6574656401 0d b90001 63676f74 b90001 616a 02".replaceAll(" ", ""),
      "hex",
    );
    host.answer(new Response(Buffer.from("040009636f6d706c6574656400", "hex")), new Response(completed));
    expect(await client.x.get("k").send("jobs", { j: 1 })).toBe(undefined);
    expect(host.last.url.pathname).toBe("/gateway/x/queue/jobs");
    expect(Buffer.from(host.last.body).toString("hex")).toBe("040004a1616a0101046a6f6273010000");
    const reply = await client.x.get("k").queue.send("ackd", { j: 1 }, { wait: true, timeout: 5000 });
    expect(reply).toEqual({ status: "completed", response: { got: { j: 2 } } });
    expect(Buffer.from(host.last.body).toString("hex")).toMatch(/010461636b640101018813000000000000$/);
  });
});

describe("raw fetch", () => {
  test("goes to the request route with the user's query first, byte for byte", async () => {
    const { host, client } = setUp();
    host.answer(new Response("hi", { status: 201 }));
    const response = await client.x.get("k").fetch("files/a%20b?x=1&y=%zz", { method: "PUT", body: "data" });
    expect([response.status, await response.text()]).toEqual([201, "hi"]);
    const { method, url, body } = host.last;
    expect(method).toBe("PUT");
    expect(url.pathname).toBe("/gateway/x/request/files/a%20b");
    expect(url.search).toMatch(/^\?x=1&y=%zz&rvt-namespace=/);
    expect(Buffer.from(body).toString()).toBe("data");
  });

  test("keeps the original URL of a Request for the handler", async () => {
    const { host, client } = setUp();
    host.answer(new Response());
    await client.x.get("k").fetch(new Request("https://shop.example/cart?id=1", { headers: { "x-a": "b" } }));
    expect(host.last.headers.get("x-rivet-internal-original-request-url")).toBe("https://shop.example/cart?id=1");
    expect(host.last.headers.get("x-a")).toBe("b");
  });

  test("repeats a refused request, but returns a handler's own error response", async () => {
    const { host, client } = setUp();
    const refusal = () => json({ group: "actor", code: "starting", message: "wait" }, 503);
    host.answer(refusal, new Response("ok"));
    expect(await (await client.x.get("k").fetch("/", { method: "POST", body: "again" })).text()).toBe("ok");
    expect(host.requests.map(({ body }) => Buffer.from(body).toString())).toEqual(["again", "again"]);

    host.answer(json({ error: "bad" }, 400));
    expect((await client.x.get("k").fetch("/")).status).toBe(400);
  });
});

describe("a client", () => {
  test("takes from the environment what neither options nor the endpoint say", () => {
    const fallback = fromEnvironment({
      RIVET_ENDPOINT: "http://env-ns:env-token@env.example",
      RIVET_NAMESPACE: "ns",
      RIVET_TOKEN: "token",
      RIVET_POOL: "pool",
    });
    const whole = { endpoint: "http://env.example", namespace: "env-ns", token: "env-token", poolName: "pool" };
    expect(clientConfig({}, { fallback })).toMatchObject(whole);
    const given = clientConfig({ endpoint: "http://h", token: "mine" }, { fallback });
    expect(given).toMatchObject({ endpoint: "http://h", namespace: "ns", token: "mine" });
    expect(fromEnvironment({ RIVET_ENGINE: "a", RIVET_ENDPOINT: "b" }).endpoint).toBe("a");
    const none = { endpoint: "http://127.0.0.1:6420", namespace: "default", token: undefined, poolName: "default" };
    expect(clientConfig({})).toMatchObject(none);
  });

  test("without a WebSocket, the platform's or an option, says which option is missing", async () => {
    vi.stubGlobal("WebSocket", undefined);
    const { webSocket: _, ...parts } = partsWith(jsCodec);
    const client = createClientWith(parts)<any>("http://127.0.0.1:6420") as any;
    await expect(client.x.get("k").webSocket()).rejects.toMatchObject({ metadata: { option: "WebSocket" } });
    vi.unstubAllGlobals();
  });

  test("encodes arguments in the turn of the call when its encoding is here", async () => {
    const host = new FakeHost().answer(bareOutput(1));
    const client = createClient<any>("http://127.0.0.1:6420", { fetch: host.fetch }) as any;
    const list = [1];
    const called = client.x.get("k").push(list);
    list.push(2);
    await called;
    expect(bareArgs(host.last.body)).toEqual([[1]]);
  });

  test("asks a remote host once where to go, and again only after a failure", async () => {
    const host = new FakeHost();
    const client = createClient<any>("https://ns:tok@actors.example/base/", { fetch: host.fetch }) as any;
    host.answer(new TypeError("fetch failed"));
    await expect(client.x.get("k").read()).rejects.toMatchObject({ code: "network_error" });
    host.answer(json({ clientEndpoint: "https://edge.example/" }), bareOutput(1), bareOutput(2));
    await client.x.get("k").read();
    await client.x.get("k").read();
    expect(host.requests.map(({ url }) => url.host + url.pathname)).toEqual([
      "actors.example/base/metadata",
      "actors.example/base/metadata",
      "edge.example/gateway/x/action/read",
      "edge.example/gateway/x/action/read",
    ]);
    expect(host.last.url.searchParams.get("rvt-namespace")).toBe("ns");
  });

  test.each([
    ["an unknown option", undefined, { encodng: "json" }, "did you mean encoding?"],
    ["an unknown encoding", undefined, { encoding: "xml" }, "must be bare, cbor or json"],
    ["no URL", "localhost", {}, "is not a URL"],
    ["another scheme", "ws://h", {}, "must be http or https"],
    ["a query", "http://h/?a=1", {}, "must not have a query"],
    ["a token without namespace", "http://:t@h", {}, "has a token but no namespace"],
    ["a token twice", "http://ns:t@h", { token: "t" }, "is given in the endpoint URL, too"],
  ])("is not made with %s", (_, endpoint, options, message) => {
    expect(() => createClient(endpoint, options as object)).toThrow(message);
  });

  test("and its handles can be awaited and printed without making requests", async () => {
    const { host, client } = setUp();
    const handle = client.x.get("k");
    expect(await client).toBe(client);
    expect(await handle).toBe(handle);
    expect(`${String(typeof handle[Symbol.iterator])}`).toBe("undefined");
    expect(host.requests).toEqual([]);
  });

  test("rejects keys that are no strings", () => {
    const { client } = setUp();
    expect(() => client.x.get([1])).toThrow("key must be a string");
  });
});
