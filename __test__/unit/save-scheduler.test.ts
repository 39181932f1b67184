import { describe, expect, test } from "vitest";
import { SaveScheduler } from "../../lib/context/save-scheduler";

/** A scheduler on native code that only notes what it is asked. */
function rig(onStateChange?: () => unknown) {
  const log: string[] = [];
  const open: (() => void)[] = [];
  let failure: Error | undefined;
  const native = {
    requestSave: () => void log.push("request"),
    requestSaveAndWait: async ({ immediate }: { immediate: boolean }) => void log.push(`wait ${immediate}`),
    saveState: (delta: { state: number }) => {
      log.push(`bring ${delta.state}`);
      if (failure !== undefined) return Promise.reject(failure);
      return new Promise<void>((resolve) => open.push(resolve));
    },
    beginOnStateChange: () => {},
    endOnStateChange: () => {},
  };
  let count = 0;
  const hook = onStateChange && { call: onStateChange, isAsync: true };
  const nothing = () => {};
  const state = { check: nothing, delta: () => ({ state: ++count }) as any, isUndecided: () => false };
  const saves = new SaveScheduler(native as any, hook, nothing, state);
  const fail = (error: Error) => {
    failure = error;
  };
  const undecided = (now: boolean) => {
    state.isUndecided = () => now;
  };
  return { saves, log, open, fail, undecided };
}

describe("a change in a transaction", () => {
  test("is reported when that is decided, once", () => {
    const reports: number[] = [];
    const { saves, undecided } = rig(() => reports.push(1));
    undecided(true);
    saves.changed();
    saves.flush();
    expect(reports).toEqual([]);
    undecided(false);
    saves.look();
    saves.look();
    expect(reports).toEqual([1]);
  });
});

describe("a save that is waited for", () => {
  test("takes nothing along that a transaction may take back", async () => {
    const { saves, log, undecided } = rig();
    undecided(true);
    await saves.requestAndWait({ immediate: true });
    expect(log).toEqual(["wait true"]);
  });

  test("takes the state along if it is alone, and shares a save otherwise", async () => {
    const { saves, log, open } = rig();
    const first = saves.requestAndWait({ immediate: true });
    const second = saves.requestAndWait({ immediate: true });
    open.pop()?.();
    await Promise.all([first, second]);
    const third = saves.requestAndWait({ immediate: true });
    open.pop()?.();
    await third;
    expect(log).toEqual(["bring 1", "wait true", "bring 2"]);
  });

  test("is asked for like any other after a failure, and at the interval", async () => {
    const { saves, log, fail } = rig();
    fail(new Error("disk"));
    await saves.requestAndWait({ immediate: true });
    expect(log).toEqual(["bring 1", "wait false"]);
  });

  test("leaves the moment to native code while onStateChange runs", async () => {
    let end = () => {};
    const { saves, log } = rig(() => new Promise<void>((resolve) => (end = resolve)));
    saves.changed();
    saves.flush();
    await saves.requestAndWait({ immediate: true });
    expect(log).toEqual(["request", "wait true"]);
    end();
  });

  test("covers the changes before it and none after it", async () => {
    const { saves, log, open } = rig();
    saves.changed();
    const saving = saves.requestAndWait({ immediate: true });
    saves.requestPending();
    expect(log).toEqual(["bring 1"]);
    saves.changed();
    open.pop()?.();
    await saving;
    saves.requestPending();
    saves.flush();
    expect(log).toEqual(["bring 1", "request"]);
  });
});
