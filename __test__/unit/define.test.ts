import { describe, expect, test } from "vitest";
import { actor, compiledActor } from "../../ts/define/actor";
import { nativeOptions } from "../../ts/define/options";
import { event, queue } from "../../ts/define/schema";

const define = (config: object) => () => actor(config as never);
const option = (name: string) => expect.objectContaining({ metadata: expect.objectContaining({ option: name }) });

describe("a definition", () => {
  test.each([
    ["an unknown option", { stat: {} }, "stat"],
    ["an unknown timing", { options: { sleepTimout: 1 } }, "options.sleepTimout"],
    ["state beside createState", { state: {}, createState: () => ({}) }, "state"],
    ["vars beside createVars", { vars: {}, createVars: () => ({}) }, "vars"],
    ["connState beside createConnState", { connState: {}, createConnState: () => ({}) }, "connState"],
    ["a hook that is no function", { onWake: 1 }, "onWake"],
    ["an action that is no function", { actions: { a: 1 } }, "actions.a"],
    ["a nested action that is no function", { actions: { a: { b: null } } }, "actions.a.b"],
    ["two actions of one name", { actions: { "a.b": () => 0, a: { b: () => 0 } } }, "actions.a.b"],
    ["a schema without its action", { actionInputSchemas: { a: validator(() => true) } }, "actionInputSchemas.a"],
    ["a timing that is no number", { options: { sleepTimeout: "1s" } }, "options.sleepTimeout"],
    ["a negative timing", { options: { actionTimeout: -1 } }, "options.actionTimeout"],
    ["a timing beyond 32 bits", { options: { sleepTimeout: 2 ** 32 } }, "options.sleepTimeout"],
    ["a flag that is none", { options: { noSleep: "yes" } }, "options.noSleep"],
    ["an unknown durability", { options: { durability: "always" } }, "options.durability"],
    ["an event that is no schema", { events: { e: 1 } }, "events.e"],
    ["vars that cannot be copied", { vars: { fn: () => 0 } }, "vars"],
    ["a database that is no provider", { db: {} }, "db"],
    ["run that is no function", { run: { name: "x" } }, "run.run"],
    ["an unknown inspector option", { inspector: { tab: [] } }, "inspector.tab"],
  ])("with %s is refused by name", (_, config, name) => {
    expect(define(config)).toThrow(option(name));
  });

  test("suggests what was probably meant", () => {
    expect(define({ onWaek: () => 0 })).toThrow("did you mean onWake?");
    expect(define({ options: { sleepTimout: 1 } })).toThrow("did you mean options.sleepTimeout?");
  });

  test("flattens nested actions with dots", () => {
    const definition = actor({ actions: { a: () => 1, grp: { sub: { deep: () => 2 } } } });
    expect([...compiledActor(definition, "x").actions.keys()]).toEqual(["a", "grp.sub.deep"]);
  });

  test("accepts null as a state and an undefined option as absent", () => {
    expect(compiledActor(actor({ state: null }), "x").hasState).toBe(true);
    const without = actor({ state: undefined, createState: undefined } as object as { state: undefined });
    expect(compiledActor(without, "x").hasState).toBe(false);
  });

  test("takes display name and icon from run, unless options give them", () => {
    const run = { name: "Runner", icon: "R", run: () => undefined };
    expect(compiledActor(actor({ run, options: { icon: "O" } }), "x").options).toEqual({ name: "Runner", icon: "O" });
  });

  test("that did not come from actor() is checked when it is used", () => {
    expect(() => compiledActor({ config: { actions: 1 } }, "x")).toThrow(option("actions"));
    expect(() => compiledActor({} as never, "x")).toThrow(option("use.x"));
  });
});

describe("options in native form", () => {
  test("name their unit and are whole numbers", () => {
    expect(nativeOptions({ sleepTimeout: 1500.7, maxQueueSize: 5, durability: "reply", name: "n" })).toEqual({
      sleepTimeoutMs: 1500,
      maxQueueSize: 5,
      durability: "reply",
      name: "n",
    });
  });

  test("leave out what was not given, so that native defaults hold", () => {
    expect(nativeOptions({})).toEqual({});
    expect(nativeOptions({ canHibernateWebSocket: () => true })).toEqual({});
    expect(nativeOptions({ canHibernateWebSocket: true })).toEqual({ canHibernateWebsocket: true });
  });
});

describe("event and queue declarations", () => {
  test("accept tokens, validators and definitions", () => {
    const check = validator(() => true);
    const { events, queues } = compiledActor(
      actor({
        events: {
          a: event<number>(),
          b: check,
          c: { schema: check },
          d: event({ schema: check, canSubscribe: () => true }),
        },
        queues: { q: queue<string, number>({ message: check, complete: check }), r: { message: check } },
      }),
      "x",
    );
    expect([...events].map(([name, { message, allow }]) => [name, message === check, allow !== undefined])).toEqual([
      ["a", false, false],
      ["b", true, false],
      ["c", true, false],
      ["d", true, true],
    ]);
    expect(queues?.get("q")).toMatchObject({ message: check, complete: check });
    expect(queues?.get("r")).toMatchObject({ message: check, complete: undefined });
  });
});

function validator(check: (value: unknown) => boolean) {
  return {
    "~standard": {
      version: 1 as const,
      vendor: "test",
      validate: (value: unknown) => (check(value) ? { value } : { issues: [{ message: "no" }] }),
    },
  };
}
