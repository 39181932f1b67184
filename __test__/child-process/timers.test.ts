import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, test } from "vitest";
import { onTestEnd, temporaryFolder } from "../fixtures/greenroom";

const program = join(import.meta.dirname, "../fixtures/timers-program.cjs");

/** A program whose output is read line by line, and that does not outlive the test. */
function start(...args: (string | number)[]) {
  const child = spawn(process.execPath, [program, ...args.map(String)], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line);
    for (const look of waiting) look();
  });
  /** Resolves when the lines are as wanted. */
  const until = (wanted: (lines: string[]) => boolean) =>
    new Promise<string[]>((resolve) => {
      const look = () => {
        if (!wanted(lines)) return;
        waiting.delete(look);
        resolve(lines);
      };
      waiting.add(look);
      look();
    });
  const kill = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  onTestEnd(kill);
  return { until, kill, ended, lines, ready: () => until((lines) => lines.includes("ready")) };
}

const rang = (lines: string[]) => lines.filter((line) => line.startsWith("rang "));

describe("after kill -9", () => {
  test("scheduled actions of many actors fire once, by themselves", async () => {
    const dataDir = temporaryFolder();
    const first = start("schedule", dataDir, 20, 3_000);
    await first.ready();
    await first.kill();
    expect(rang(first.lines)).toEqual([]);
    const second = start("open", dataDir);
    await second.until((lines) => rang(lines).length >= 20);
    await second.kill();
    expect(rang(second.lines).sort()).toEqual(Array.from({ length: 20 }, (_, at) => `rang ${at} ding`).sort());
    // None is left for a third life.
    const third = start("open", dataDir);
    await third.ready();
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(rang(third.lines)).toEqual([]);
  });

  test("schedules that are due together fire once each, whichever of them it died in", async () => {
    const dataDir = temporaryFolder();
    const armed = start("crowd", dataDir, 20, 1_000);
    await armed.ready();
    await armed.kill();
    const died = start("dieInThird", dataDir);
    await died.ended;
    const last = start("open", dataDir);
    const turns = () => [armed, died, last].flatMap(({ lines }) => lines.filter((line) => line.startsWith("turn ")));
    await last.until(() => turns().length >= 20);
    await last.kill();
    const each = Array.from({ length: 20 }, (_, at) => `turn ${at}`);
    expect(turns().sort()).toEqual(each.sort());
  });

  test.each([
    ["taken", []],
    ["given back", [500]],
  ])("a message wakes its actor, however soon after it was %s the process died", async (_what, after) => {
    const dataDir = temporaryFolder();
    const first = start("takeAndDie", dataDir, ...after);
    await first.ended;
    const second = start("open", dataDir);
    await second.until((lines) => lines.includes("worked leased 2"));
    await second.kill();
  });

  test("a message whose lease had run out when its process died wakes its actor", async () => {
    const dataDir = temporaryFolder();
    await start("workLong", dataDir, "die").ended;
    const second = start("open", dataDir);
    await second.until((lines) => lines.includes("worked slow 2"));
    await second.kill();
  });

  test("a message wakes its actor again, however often its process dies before it is received", async () => {
    const dataDir = temporaryFolder();
    await start("workLong", dataDir, "die").ended;
    for (let life = 0; life < 3; life++) await start("dieAwake", dataDir).ended;
    const last = start("open", dataDir);
    await last.until((lines) => lines.includes("worked slow 2"));
    await last.kill();
  });

  test("a message whose lease had run out when its actor fell asleep wakes it", async () => {
    const program = start("workLong", temporaryFolder(), "sleep");
    await program.until((lines) => lines.includes("worked slow 2"));
    await program.kill();
  });

  test("a message that was taken and not completed is delivered again", async () => {
    const dataDir = temporaryFolder();
    const first = start("take", dataDir);
    await first.ready();
    expect(first.lines).toEqual(["took leased", "took kept", "ready"]);
    await first.kill();
    // The lease wakes its actor: nobody calls it.
    const second = start("open", dataDir);
    await second.until((lines) => lines.includes("worked leased 2"));
    await second.kill();
  });
});
