import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Backoff } from "../../ts/client/connection/backoff";
import { connection as connectionWith } from "../../ts/client/connection/connection";
import { openLine } from "../../ts/client/connection/line";
import { jsCodec } from "../../ts/codec/index";
import type { ActorError } from "../../ts/errors/actor-error";
import { formatsOf } from "../../ts/wire/formats";
import { FakeSocket } from "../fixtures/fake-socket";
import { withResolvers } from "../fixtures/with-resolvers";

interface Options {
  signal?: AbortSignal;
  line?: () => Promise<typeof openLine>;
  open?: (over: AbortSignal) => Promise<FakeSocket>;
  onEnd?: () => void;
}

/** A connection and the sockets it opens, newest last. */
function connect({ signal, line = async () => openLine, open = async () => new FakeSocket(), onEnd }: Options = {}) {
  const sockets: FakeSocket[] = [];
  const errors: ActorError[] = [];
  const statuses: string[] = [];
  const format = formatsOf("json", jsCodec).messages;
  const made = connectionWith({
    line,
    open: async (over) => {
      const socket = await open(over);
      sockets.push(socket);
      return { format, socket };
    },
    signal,
    ...(onEnd && { onEnd }),
  });
  made.onError((error: ActorError) => void errors.push(error));
  made.onStatusChange((status: string) => void statuses.push(status));
  const action = (name: string, args: unknown[], signal?: AbortSignal) => made.action({ name, args, signal });
  const socket = () => sockets[sockets.length - 1] as FakeSocket;
  return {
    connection: { ...made, action, status: () => made.connStatus, id: () => made.connectionId },
    sockets,
    socket,
    errors,
    statuses,
  };
}

/** Lets promises settle; no timer moves. */
const settle = () => vi.advanceTimersByTimeAsync(0);
/** Longer than any first pause. */
const pause = () => vi.advanceTimersByTimeAsync(251);

describe("a connection", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => {
    // What was disposed of leaves no timer behind.
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  it("subscribes, then sends what waited, in order", async () => {
    const { connection, socket } = connect();
    connection.on("said", () => {});
    const calls = [connection.action("a", [1]), connection.action("b", [])];
    await settle();
    expect(socket().sent).toEqual([]);
    socket().init();
    expect((socket().sent as { tag: string }[]).map(({ tag }) => tag)).toEqual([
      "SubscriptionRequest",
      "ActionRequest",
      "ActionRequest",
    ]);
    socket().say("ActionResponse", { id: 1, output: "second" });
    socket().say("ActionResponse", { id: ["$BigInt", "0"], output: "first" });
    expect(await Promise.all(calls)).toEqual(["first", "second"]);
    await connection.ready;
    expect(connection.id()).toBe("c");
    void connection.dispose();
    socket().end(1000, "Disposed");
  });

  it("comes back by itself, listens again, and keeps ids apart", async () => {
    const { connection, socket, sockets, statuses } = connect();
    connection.on("said", () => {});
    await settle();
    socket().init("one");
    const lost = connection.action("a", []);
    const rejected = expect(lost).rejects.toMatchObject({ group: "client", code: "connection_lost" });
    socket().end(1006);
    await rejected;
    const waiting = connection.action("b", []);
    await pause();
    expect(sockets.length).toBe(2);
    socket().init("two");
    expect(socket().of("SubscriptionRequest")).toEqual([{ eventName: "said", subscribe: true }]);
    expect(socket().of("ActionRequest")).toEqual([{ id: 1, name: "b", args: [] }]);
    socket().say("ActionResponse", { id: 1, output: 2 });
    expect(await waiting).toBe(2);
    expect(statuses).toEqual(["connected", "disconnected", "connecting", "connected"]);
    void connection.dispose();
    socket().end();
  });

  it("waits longer after each failure, at most half a minute, and never in step with others", async () => {
    const { connection, sockets } = connect();
    await settle();
    for (let attempt = 1; attempt <= 12; attempt++) {
      expect(sockets.length).toBe(attempt);
      sockets[attempt - 1]?.end();
      await vi.advanceTimersByTimeAsync(30_000);
    }
    const backoff = new Backoff();
    expect([backoff.next(() => 0), backoff.next(() => 1)]).toEqual([125, 500]);
    void connection.dispose();
    sockets.at(-1)?.end();
  });

  it("ends at an answer that will not change, and says so to everybody", async () => {
    const { connection, socket, errors, statuses } = connect();
    const call = connection.action("a", []);
    const rejected = expect(call).rejects.toMatchObject({ group: "actor", code: "not_found", rayId: "ray" });
    await settle();
    socket().end(1011, "actor.not_found#ray");
    await rejected;
    await expect(connection.ready).rejects.toMatchObject({ code: "not_found" });
    await expect(connection.action("b", [])).rejects.toMatchObject({ code: "not_found" });
    expect(errors.map(({ code }) => code)).toEqual(["not_found"]);
    expect(statuses).toEqual(["idle"]);
  });

  it("carries what a hook said when it refused", async () => {
    const { connection, socket } = connect();
    await settle();
    const refused = expect(connection.ready).rejects.toMatchObject({ code: "banned", metadata: { why: 1 } });
    socket().say("Error", { group: "user", code: "banned", message: "no", metadata: { why: 1 }, actionId: null });
    socket().end(1011, "user.banned");
    await refused;
  });

  it("tries again while the actor is on its way", async () => {
    const { connection, socket, sockets, errors } = connect();
    await settle();
    for (const reason of ["actor.restarting#r", "guard.actor_ready_timeout#r", "ws.going_away#r"]) {
      socket().end(1011, reason);
      await vi.advanceTimersByTimeAsync(2_000);
    }
    expect(sockets.length).toBe(4);
    expect(errors).toEqual([]);
    void connection.dispose();
    socket().end();
  });

  it("delivers events in order, once where asked, and past a listener that throws", async () => {
    const reported = vi.spyOn(console, "error").mockImplementation(() => {});
    const { connection, socket } = connect();
    const seen: unknown[] = [];
    connection.on("said", () => {
      throw new Error("mine");
    });
    connection.on("said", (...args: unknown[]) => void seen.push(args));
    connection.once("hello", (...args: unknown[]) => void seen.push(args));
    await settle();
    socket().init();
    for (const n of [1, 2]) socket().say("Event", { name: "said", args: [n] });
    for (const n of [3, 4]) socket().say("Event", { name: "hello", args: [n] });
    expect(seen).toEqual([[1], [2], [3]]);
    expect(reported).toHaveBeenCalledTimes(2);
    expect(socket().of("SubscriptionRequest")).toContainEqual({ eventName: "hello", subscribe: false });
    reported.mockRestore();
    void connection.dispose();
    socket().end();
  });

  it("stays subscribed for a listener that asks for the next event, too", async () => {
    const { connection, socket } = connect();
    const seen: unknown[] = [];
    const next = (n: unknown) => {
      seen.push(n);
      if (seen.length < 3) connection.once("said", next);
    };
    connection.once("said", next);
    await settle();
    socket().init();
    for (const n of [1, 2, 3, 4]) socket().say("Event", { name: "said", args: [n] });
    expect(seen).toEqual([1, 2, 3]);
    const unsubscribed = socket()
      .of("SubscriptionRequest")
      .filter(({ subscribe }) => subscribe === false);
    expect(unsubscribed).toEqual([{ eventName: "said", subscribe: false }]);
    void connection.dispose();
    socket().end();
  });

  it("subscribes with the first listener and unsubscribes with the last", async () => {
    const { connection, socket } = connect();
    await settle();
    socket().init();
    const stops = [connection.on("said", () => {}), connection.on("said", () => {})];
    for (const stop of stops) stop();
    stops[0]?.();
    expect(socket().of("SubscriptionRequest")).toEqual([
      { eventName: "said", subscribe: true },
      { eventName: "said", subscribe: false },
    ]);
    void connection.dispose();
    socket().end();
  });

  it("gives up a call whose signal fires, sent or not", async () => {
    const { connection, socket } = connect();
    const [first, second] = [new AbortController(), new AbortController()];
    const waiting = connection.action("a", [], first.signal);
    const waitingRejects = expect(waiting).rejects.toBe("enough");
    first.abort("enough");
    await waitingRejects;
    await settle();
    socket().init();
    expect(socket().of("ActionRequest")).toEqual([]);
    const sent = connection.action("b", [], second.signal);
    const sentRejects = expect(sent).rejects.toBe("too late");
    second.abort("too late");
    await sentRejects;
    // A late answer is nobody's, and no error.
    socket().say("ActionResponse", { id: 0, output: 1 });
    await expect(connection.action("c", [], AbortSignal.abort("never"))).rejects.toBe("never");
    void connection.dispose();
    socket().end();
  });

  it("fails a call that cannot be encoded alone", async () => {
    const { connection, socket } = connect();
    await settle();
    socket().init();
    await expect(connection.action("a", [() => {}])).rejects.toMatchObject({ group: "napi" });
    expect(connection.status()).toBe("connected");
    void connection.dispose();
    socket().end();
  });

  it("says goodbye, waits for the answer, and rejects what was left", async () => {
    const { connection, socket } = connect();
    await settle();
    socket().init();
    const left = expect(connection.action("a", [])).rejects.toMatchObject({ code: "connection_disposed" });
    let done = false;
    const disposing = connection.dispose().then(() => {
      done = true;
    });
    await left;
    expect(socket().closedWith).toEqual({ code: 1000, reason: "Disposed" });
    await settle();
    expect(done).toBe(false);
    socket().end(1000, "Disposed");
    await disposing;
    expect(connection.status()).toBe("idle");
    await expect(connection.action("b", [])).rejects.toMatchObject({ code: "connection_disposed" });
    await connection.dispose();
  });

  it("says one goodbye, however often it is disposed of", async () => {
    const { connection, socket } = connect();
    await settle();
    socket().init();
    const disposing = Promise.all([connection.dispose(), connection.dispose()]);
    await settle();
    socket().end(1000, "Disposed");
    await disposing;
  });

  it("does not wait for ever for the answer to a goodbye", async () => {
    const { connection, socket } = connect();
    await settle();
    socket().init();
    const disposing = connection.dispose();
    await vi.advanceTimersByTimeAsync(1_000);
    await disposing;
  });

  it("ends with its signal, whatever it was doing", async () => {
    const controller = new AbortController();
    const { connection, socket } = connect({ signal: controller.signal });
    await settle();
    socket().end();
    controller.abort();
    await expect(connection.ready).rejects.toMatchObject({ code: "connection_disposed" });
    const onEnd = vi.fn();
    const never = connect({ signal: AbortSignal.abort(), onEnd });
    await settle();
    expect(never.sockets).toEqual([]);
    // It never was anybody's: who asked for it had no connection yet.
    expect(onEnd).not.toHaveBeenCalled();
    expect(connection.status()).toBe("idle");
  });

  it("closes a socket that says what is not of the protocol", async () => {
    const { connection, socket, errors } = connect();
    await settle();
    socket().init();
    socket().onmessage?.({ data: "nonsense" });
    expect(errors[0]).toMatchObject({ group: "client", code: "invalid_response" });
    expect(socket().closedWith).toBeDefined();
    socket().end();
    void connection.dispose();
  });

  it("counts a socket as lost that only reports an error", async () => {
    const { connection, sockets, socket } = connect();
    await settle();
    socket().onerror?.({});
    await vi.advanceTimersByTimeAsync(100);
    await pause();
    expect(sockets.length).toBe(2);
    void connection.dispose();
    socket().end();
  });

  it("takes the reason of a close that follows an error", async () => {
    const { connection, socket, errors } = connect();
    await settle();
    socket().readyState = 2;
    socket().onerror?.({});
    await settle();
    socket().end(1011, "actor.not_found#ray");
    await expect(connection.ready).rejects.toMatchObject({ code: "not_found", rayId: "ray" });
    expect(errors.map(({ code }) => code)).toEqual(["not_found"]);
  });

  it.each([
    ["its code", true],
    ["its socket", false],
  ])("lets a thousand calls wait for %s, and refuses more at once", async (_what, isCode) => {
    const { connection } = connect(isCode ? { line: () => new Promise(() => {}) } : {});
    await settle();
    const leave = new AbortController();
    const settled: unknown[] = [];
    const call = (signal?: AbortSignal) =>
      connection.action("a", [], signal).catch((error) => void settled.push(error.code ?? error));
    void call(leave.signal);
    for (let at = 1; at < 1_000; at++) void call();
    await settle();
    expect(settled).toEqual([]);
    await call();
    expect(settled).toEqual(["too_many_calls"]);
    leave.abort("left");
    await settle();
    void call();
    await settle();
    expect(settled).toEqual(["too_many_calls", "left"]);
    const disposing = connection.dispose();
    await vi.advanceTimersByTimeAsync(10_000);
    await disposing;
    expect(settled.slice(2)).toEqual(Array(1_000).fill("connection_disposed"));
  });

  it("keeps what is asked of it until its code is here, in order", async () => {
    const code = withResolvers<typeof openLine>();
    const { connection, socket, sockets, statuses } = connect({ line: () => code.promise });
    const heard: unknown[] = [];
    connection.on("said", (n: unknown) => void heard.push(n));
    const stop = connection.on("dropped", () => {});
    const live = new AbortController();
    const calls = [connection.action("a", [], live.signal), connection.action("b", []), connection.action("c", [])];
    stop();
    await settle();
    expect([connection.status(), sockets.length]).toEqual(["connecting", 0]);
    // Whoever acts as soon as the code is here comes after those who waited for it.
    void code.promise.then(() => calls.push(connection.action("d", [])));
    code.resolve(openLine);
    await settle();
    socket().init();
    expect(socket().of("SubscriptionRequest")).toEqual([{ eventName: "said", subscribe: true }]);
    expect(
      socket()
        .of("ActionRequest")
        .map(({ name }) => name),
    ).toEqual(["a", "b", "c", "d"]);
    for (const id of [0, 1, 2, 3]) socket().say("ActionResponse", { id, output: id });
    expect(await Promise.all(calls)).toEqual([0, 1, 2, 3]);
    socket().say("Event", { name: "said", args: [1] });
    expect(heard).toEqual([1]);
    expect(statuses).toEqual(["connected"]);
    void connection.dispose();
    socket().end();
  });

  it("asks again for code that cannot be loaded, and sends then what waited", async () => {
    let attempts = 0;
    const { connection, socket, statuses } = connect({
      line: async () => {
        if (attempts++ < 2) throw new TypeError("Failed to fetch dynamically imported module");
        return openLine;
      },
    });
    const call = connection.action("a", []);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(attempts).toBe(3);
    socket().init();
    socket().say("ActionResponse", { id: 0, output: 1 });
    expect(await call).toBe(1);
    expect(statuses).toEqual(["disconnected", "connecting", "disconnected", "connecting", "connected"]);
    void connection.dispose();
    socket().end();
  });

  it.each([
    ["is on its way", () => new Promise<never>(() => {})],
    ["cannot be loaded", () => Promise.reject(new TypeError("Failed to fetch dynamically imported module"))],
  ])("is over at once when its code %s", async (_, line) => {
    const { connection, sockets, errors, statuses } = connect({ line });
    const waiting = expect(connection.action("a", [])).rejects.toMatchObject({ code: "connection_disposed" });
    const notReady = expect(connection.ready).rejects.toMatchObject({ code: "connection_disposed" });
    await settle();
    await connection.dispose();
    await Promise.all([waiting, notReady]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect([connection.status(), sockets.length, errors.length, statuses.at(-1)]).toEqual(["idle", 0, 0, "idle"]);
    await expect(connection.action("b", [])).rejects.toMatchObject({ code: "connection_disposed" });
  });

  it("gives up a call whose signal fires while the code is on its way, and never sends it", async () => {
    const code = withResolvers<typeof openLine>();
    const { connection, socket } = connect({ line: () => code.promise });
    const enough = new AbortController();
    const given = expect(connection.action("a", [], enough.signal)).rejects.toBe("enough");
    enough.abort("enough");
    await given;
    code.resolve(openLine);
    await settle();
    socket().init();
    expect(socket().of("ActionRequest")).toEqual([]);
    void connection.dispose();
    socket().end();
  });

  it("tells of its end once, also whom it tells of the loss of its socket", async () => {
    const { connection, socket } = connect();
    let closes = 0;
    connection.onClose(() => {
      closes++;
      void connection.dispose();
    });
    await settle();
    socket().init();
    socket().end(1006);
    expect(closes).toBe(1);
    expect(connection.status()).toBe("idle");
  });
});
