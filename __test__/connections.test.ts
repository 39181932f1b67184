import { describe, expect, test } from "vitest";
import { event, greenroom, served } from "./fixtures/greenroom";
import { unlessOnEngine } from "./fixtures/host";

const { actor, UserError } = greenroom;

const held = unlessOnEngine("an engine holds the sockets of a process that leaves, for the next one");

const room = actor({
  state: { woken: 0 },
  // First of the functions: what it makes is then known in all others.
  createConnState: (_c, params: { name?: string } | undefined) => ({ name: params?.name ?? "nobody", calls: 0 }),
  onWake: (c) => {
    c.state.woken++;
  },
  onBeforeConnect: (_c, params) => {
    if (params?.name === "banned") throw new UserError("no", { code: "banned" });
  },
  onDisconnect: (c, conn) => c.broadcast("left", conn.state.name),
  actions: {
    say: (c, text: string) => {
      c.conn.state.calls++;
      c.broadcast("said", c.conn.state.name, text);
      return c.conn.state.calls;
    },
    id: (c) => c.conn.id,
    names: (c) => [...c.conns.values()].map((conn) => conn.state.name).sort(),
    kick: (c) => c.conn.disconnect("bye"),
    hang: () => new Promise<never>(() => {}),
    nap: (c) => c.sleep(),
    woken: (c) => c.state.woken,
  },
  options: { sleepGracePeriod: 100 },
});

/** The same tests for every way to the actor. */
async function ways() {
  const { registry, local, clientIn } = await served({ room });
  const clients = { local, bare: clientIn("bare"), cbor: clientIn("cbor"), json: clientIn("json") };
  return { registry, clients: Object.entries(clients) };
}

/** Resolves with the arguments of the next event. */
function heard(conn: any, name: string): Promise<unknown[]> {
  return new Promise((resolve) => conn.once(name, (...args: unknown[]) => resolve(args)));
}

const status = (conn: any, wanted: string) =>
  new Promise<void>((resolve) => {
    const stop = conn.onStatusChange((now: string) => {
      if (now !== wanted) return;
      stop();
      resolve();
    });
  });

describe("a connection", () => {
  test("calls actions and hears events, in order, whichever way it goes", async () => {
    const { clients } = await ways();
    for (const [way, client] of clients) {
      const conn = client.room.getOrCreate(way).connect({ name: way });
      const order: unknown[] = [];
      conn.on("said", (...args: unknown[]) => order.push(args));
      order.push(await conn.say("one"));
      order.push(await conn.say("two"));
      expect(order, way).toEqual([[way, "one"], 1, [way, "two"], 2]);
      expect(await conn.id()).toBe(conn.connectionId);
      expect(conn.actorId).toBe(await client.room.get(way).resolve());
      await conn.dispose();
      expect(conn.connStatus).toBe("idle");
    }
  });

  test("comes back after the actor threw it out, and listens as before", async () => {
    const { clients } = await ways();
    for (const [way, client] of clients) {
      const conn = client.room.getOrCreate(way).connect();
      const said = heard(conn, "said");
      const first = await conn.id();
      const lost = status(conn, "disconnected");
      const kicked = conn.kick().catch((error: { code: string }) => error.code);
      await lost;
      expect([undefined, "connection_lost"]).toContain(await kicked);
      await status(conn, "connected");
      expect(await conn.id(), way).not.toBe(first);
      await conn.say("again");
      expect(await said).toEqual(["nobody", "again"]);
      await conn.dispose();
    }
  });

  test("outlasts the sleep of its actor", async () => {
    const { clients } = await ways();
    for (const [way, client] of clients) {
      const conn = client.room.getOrCreate(way).connect({ name: "Ada" });
      const said: unknown[] = [];
      conn.on("said", (...args: unknown[]) => said.push(args));
      expect(await conn.say("before")).toBe(1);
      const id = conn.connectionId;
      await conn.nap();
      expect(await conn.say("after"), way).toBe(2);
      expect(await conn.id()).toBe(id);
      expect(await conn.woken()).toBe(2);
      expect(said).toEqual([
        ["Ada", "before"],
        ["Ada", "after"],
      ]);
      await conn.dispose();
    }
  });

  test("that a hook refuses ends with what the hook said", async () => {
    const { clients } = await ways();
    for (const [way, client] of clients) {
      const conn = client.room.getOrCreate(way).connect({ name: "banned" });
      await expect(conn.ready, way).rejects.toMatchObject({ group: "user", code: "banned", message: "no" });
      await expect(conn.id()).rejects.toMatchObject({ code: "banned" });
      expect(conn.connStatus).toBe("idle");
    }
  });

  test("to nobody ends with actor/not_found", async () => {
    const { clients } = await ways();
    for (const [way, client] of clients) {
      const conn = client.room.get(`${way} nowhere`).connect();
      await expect(conn.ready, way).rejects.toMatchObject({ group: "actor", code: "not_found" });
    }
  });

  test("that is disposed of leaves the actor and rejects what it waited for", async () => {
    const { clients } = await ways();
    for (const [way, client] of clients) {
      const handle = client.room.getOrCreate(way);
      const [stays, goes] = [handle.connect({ name: "stays" }), handle.connect({ name: "goes" })];
      await Promise.all([stays.ready, goes.ready]);
      expect(await stays.names(), way).toEqual(["goes", "stays"]);
      const left = heard(stays, "left");
      await stays.id();
      const hanging = expect(goes.hang()).rejects.toMatchObject({ code: "connection_disposed" });
      await goes.dispose();
      await hanging;
      expect(await left).toEqual(["goes"]);
      expect(await stays.names()).toEqual(["stays"]);
      await stays.dispose();
    }
  });

  test("ends when its signal fires or its client is disposed of", async () => {
    const { clients } = await ways();
    for (const [way, client] of clients) {
      const controller = new AbortController();
      const one = client.room.getOrCreate(way).connect(undefined, { signal: controller.signal });
      const other = client.room.getOrCreate(way).connect();
      await Promise.all([one.ready, other.ready]);
      controller.abort();
      await expect(one.id(), way).rejects.toMatchObject({ code: "connection_disposed" });
      await client.dispose();
      expect([one.connStatus, other.connStatus]).toEqual(["idle", "idle"]);
    }
  });

  test("asks for its parameters anew each time it connects", async () => {
    const { clients } = await ways();
    for (const [way, client] of clients) {
      let asked = 0;
      const getParams = async () => ({ name: `try ${++asked}` });
      const conn = client.room.getOrCreate(way, { getParams }).connect();
      await conn.ready;
      expect(await conn.names(), way).toEqual(["try 1"]);
      const lost = status(conn, "disconnected");
      conn.kick().catch(() => {});
      await lost;
      await status(conn, "connected");
      expect(await conn.names()).toEqual(["try 2"]);
      await conn.dispose();
    }
  });

  test("of a host that shuts down is lost, and says so", held, async () => {
    const { registry, clients } = await ways();
    const conns = clients.map(([way, client]) => client.room.getOrCreate(way).connect());
    await Promise.all(conns.map((conn) => conn.ready));
    const ends = conns.map((conn) => {
      const end = event();
      conn.onClose(end.happen);
      return end.promise;
    });
    await registry.shutdown();
    await Promise.all(ends);
    await Promise.all(conns.map((conn) => conn.dispose()));
  });
});
