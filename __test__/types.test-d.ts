// Checked by `tsc`, never run: what users write must infer, and what is wrong
// must not compile.
import { expectTypeOf, test } from "vitest";
import {
  type ActionContextOf,
  type ActorContextOf,
  actor,
  createClient,
  db,
  event,
  queue,
  type RawAccess,
  type ScheduledFireInfo,
  type StandardSchema,
  setup,
} from "../ts/index";

const numbers = {} as StandardSchema<string, number>;

const room = actor({
  createState: (c, input: { title: string }) => ({ title: input.title, id: c.actorId, log: [] as string[] }),
  createVars: (c) => ({ started: Date.now(), of: c.state.title }),
  createConnState: (c, params: { token: string }) => ({ user: params.token, since: c.vars.started }),
  events: { said: event<{ by: string; text: string }>(), moved: event<[x: number, y: number]>(), counted: numbers },
  queues: { jobs: queue<{ id: number }, boolean>(), parsed: { message: numbers, complete: numbers }, plain: numbers },
  onBeforeConnect: (c, params) => {
    expectTypeOf(params).toEqualTypeOf<{ token: string }>();
    expectTypeOf(c.vars.of).toEqualTypeOf<string>();
  },
  onConnect: (c, conn) => {
    expectTypeOf(conn.state).toEqualTypeOf<{ user: string; since: number }>();
    expectTypeOf(c.conn.params.token).toEqualTypeOf<string>();
    conn.send("moved", 1, 2);
    // @ts-expect-error: one argument is missing
    conn.send("moved", 1);
  },
  onStateChange: (_c, state) => {
    expectTypeOf(state.log).toEqualTypeOf<string[]>();
  },
  run: async (c) => {
    for await (const message of c.queue.iter({ names: ["jobs"], completable: true })) {
      expectTypeOf(message.body.id).toEqualTypeOf<number>();
      expectTypeOf(message.id).toEqualTypeOf<bigint>();
      await message.complete(true);
      // @ts-expect-error: the answer is a boolean
      await message.complete("yes");
    }
    const any = await c.queue.next();
    if (any?.name === "jobs") expectTypeOf(any.body).toEqualTypeOf<{ id: number }>();
    // @ts-expect-error: not completable unless asked for
    any?.complete();
  },
  actions: {
    say: (c, text: string) => {
      c.state.log.push(text);
      c.broadcast("said", { by: c.conn.state.user, text });
      c.broadcast("moved", 1, 2);
      c.broadcast("counted", 3);
      // @ts-expect-error: no such event
      c.broadcast("sayed", { by: "", text });
      // @ts-expect-error: not the event's type
      c.broadcast("said", text);
      // @ts-expect-error: no such field
      c.state.nothing;
      return c.state.log.length;
    },
    remind: async (c, inMs: number = 5, _fire?: ScheduledFireInfo) => c.schedule.after(inMs, "say", "!"),
    admin: {
      rename: async (c, title: string) => {
        c.state.title = title;
      },
      deep: { er: (_c, flag: boolean) => flag },
    },
    send: async (c) => {
      await c.queue.send("jobs", { id: 1 });
      expectTypeOf(await c.queue.enqueueAndWait("jobs", { id: 1 })).toEqualTypeOf<boolean | undefined>();
      // @ts-expect-error: not the queue's type
      await c.queue.send("jobs", 1);
      // @ts-expect-error: no such queue
      await c.queue.send("job", { id: 1 });
    },
  },
});

const plain = actor({
  state: { n: 0 },
  connState: { seen: 0 },
  vars: { cache: new Map<string, number>() },
  db: db(),
  actions: {
    get: (c) => [c.state.n, c.conn.state.seen, c.vars.cache.get("a")] as const,
    sql: (c) => {
      expectTypeOf(c.db).toEqualTypeOf<RawAccess>();
      return c.db.execute<{ n: number }>("select 1 as n");
    },
    none: () => undefined,
    all: (...args: any[]) => args.length,
    rest: (_c, first: string, ...others: number[]) => [first, others] as const,
    open: (c) => {
      c.broadcast("anything", 1, "two");
      c.queue.send("anything", { at: "all" });
      c.client<typeof registry>().room.get("a");
    },
  },
});

const empty = actor({ types: {} as { input: { seed: number }; connParams: { who: string } } });

const registry = setup({ use: { room, plain, empty } });
const client = createClient<typeof registry>("http://127.0.0.1:6420");

test("a handle has the actions with their arguments and results", () => {
  const handle = client.room.getOrCreate("a");
  expectTypeOf(handle.say).toEqualTypeOf<(text: string) => Promise<number>>();
  expectTypeOf(handle.remind).parameters.toEqualTypeOf<
    [inMs?: number | undefined, _fire?: ScheduledFireInfo | undefined]
  >();
  expectTypeOf(handle.remind()).resolves.toEqualTypeOf<string>();
  expectTypeOf(handle.admin.rename).toEqualTypeOf<(title: string) => Promise<void>>();
  expectTypeOf(handle.admin.deep.er(true)).resolves.toEqualTypeOf<boolean>();
  expectTypeOf(client.plain.get("a").get()).resolves.toEqualTypeOf<readonly [number, number, number | undefined]>();
  expectTypeOf(client.plain.get("a").sql()).resolves.toEqualTypeOf<{ n: number }[]>();
  expectTypeOf(client.plain.get("a").none()).resolves.toEqualTypeOf<undefined>();
  expectTypeOf(client.plain.get("a").all).parameters.toEqualTypeOf<any[]>();
  expectTypeOf(client.plain.get("a").rest).parameters.toEqualTypeOf<[first: string, ...others: number[]]>();
  // @ts-expect-error: not the argument's type
  handle.say(1);
  // @ts-expect-error: no such action
  handle.shout("x");
  // @ts-expect-error: an actor without actions has none
  client.empty.get("a").anything();
  // @ts-expect-error: no such actor
  client.rooms.get("a");
});

test("accessors know input and params", () => {
  client.room.getOrCreate(["a"], { createWithInput: { title: "t" }, params: { token: "x" } });
  client.room.create("a", { input: { title: "t" } });
  client.empty.getOrCreate("a", { createWithInput: { seed: 1 }, params: { who: "me" } });
  // @ts-expect-error: not the input's type
  client.room.create("a", { input: { titel: "t" } });
  // @ts-expect-error: not the params' type
  client.room.get("a", { params: { token: 1 } });
  // Nothing declared: nothing in the way.
  client.plain.getOrCreate("a", { createWithInput: 5, params: "x" });
});

test("queue sends and event listeners are typed", () => {
  const handle = client.room.getOrCreate("a");
  expectTypeOf(handle.send("jobs", { id: 1 })).resolves.toEqualTypeOf<void>();
  expectTypeOf(handle.queue.send("jobs", { id: 1 }, { wait: true })).resolves.toHaveProperty("status");
  handle.send("parsed", 5);
  // @ts-expect-error: not the queue's type
  handle.send("jobs", "x");
  client.plain.get("a").send("whatever", 1);
  const conn = handle.connect({ token: "x" });
  conn.on("said", (message) => expectTypeOf(message).toEqualTypeOf<{ by: string; text: string }>());
  conn.once("moved", (x, y) => expectTypeOf([x, y]).toEqualTypeOf<number[]>());
  conn.on("counted", (n) => expectTypeOf(n).toEqualTypeOf<number>());
  expectTypeOf(conn.say("x")).resolves.toEqualTypeOf<number>();
  // @ts-expect-error: no such event
  conn.on("sayed", () => undefined);
});

test("the client inside the process is the same", () => {
  expectTypeOf(registry.client().room.getOrCreate("a").say).toEqualTypeOf<(text: string) => Promise<number>>();
  expectTypeOf(registry.listen({ port: 0 })).resolves.toHaveProperty("url");
});

test("a client of unknown actors lets everything through", () => {
  const loose = createClient<any>();
  expectTypeOf(loose.room.get("a").anything(1)).toBeAny();
  loose.getOrCreate("room", "a").action({ name: "say", args: ["x"] });
});

test("helpers can be typed by a definition", () => {
  const helper = (c: ActionContextOf<typeof room>) => c.state.title + c.conn.state.user;
  expectTypeOf(helper).returns.toEqualTypeOf<string>();
  expectTypeOf<ActorContextOf<typeof plain>["state"]>().toEqualTypeOf<{ n: number }>();
});

test("wrong definitions do not compile", () => {
  // @ts-expect-error: an unknown option
  actor({ sate: {} });
  // @ts-expect-error: an unknown timing
  actor({ options: { sleepTimout: 1 } });
  // @ts-expect-error: an action is a function
  actor({ actions: { a: 1 } });
  // @ts-expect-error: not an actor
  setup({ use: { a: {} } });
});

test("messages of queues with delivery options are leased, others are not", () => {
  actor({
    queues: {
      leased: queue<{ id: number }, boolean>({ maxAttempts: 3, backoff: 100 }),
      alsoLeased: { message: numbers, visibilityTimeout: 1_000 },
      plain: queue<string>({ canPublish: () => true }),
    },
    run: async (c) => {
      for await (const message of c.queue.iter({ names: ["leased"], completable: true })) {
        expectTypeOf(message.body).toEqualTypeOf<{ id: number }>();
        expectTypeOf(message.attempt).toEqualTypeOf<number>();
        await message.retry({ after: 5 });
        await message.fail("why");
        await message.complete(true);
        // @ts-expect-error: not the queue's answer
        await message.complete(1);
      }
      expectTypeOf((await c.queue.next({ names: ["alsoLeased"], completable: true }))?.attempt).toEqualTypeOf<
        number | undefined
      >();
      // @ts-expect-error: not completable, so not leased either
      (await c.queue.next({ names: ["leased"] }))?.attempt;
      // @ts-expect-error: a queue without leases
      (await c.queue.next({ names: ["plain"], completable: true }))?.retry();
      expectTypeOf(await c.queue.stats("leased")).toHaveProperty("depth");
      // @ts-expect-error: no such queue
      await c.queue.stats("lesed");
    },
  });
  // @ts-expect-error: no such option
  queue<string>({ maxAttemps: 3 });
});
