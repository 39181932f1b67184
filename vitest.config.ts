import { defineConfig } from "vitest/config";

/** What is about actors, whoever hosts them; a host's own files and listener are not. */
const ON_ENGINE = [
  "client",
  "connections",
  "counter",
  "ends",
  "errors",
  "inspector",
  "interleaving",
  "lifecycle",
  "mappers",
  "queues",
  "raw-traffic",
  "reply",
  "schedules",
  "sql",
  "state",
  "state-transactions",
];

/** Suites that are about actors, on an engine (`GREENROOM_TEST_HOST=engine`). */
const ENGINE = {
  test: {
    name: "engine",
    include: ON_ENGINE.map((name) => `__test__/${name}.test.ts`),
    // They share the engine, and a machine has processors for one of them at a time.
    poolOptions: { forks: { singleFork: true } },
    globalSetup: ["__test__/fixtures/engine-setup.mjs"],
    // A start takes an engine some tenths of a second, and seconds when the machine is busy.
    testTimeout: 120_000,
    hookTimeout: 60_000,
    env: { GREENROOM_HOST: "engine", RIVET_LOG_LEVEL: "off" },
  },
};

const EMBEDDED = [
  {
    test: {
      name: "unit",
      // Some start processes, which takes its time on a busy machine.
      testTimeout: 20_000,
      include: ["__test__/unit/**/*.test.ts"],
      typecheck: { enabled: true, include: ["__test__/**/*.test-d.ts"], tsconfig: "__test__/tsconfig.json" },
    },
  },
  // These load the built addon and the compiled `lib/`.
  {
    test: {
      name: "addon",
      include: ["__test__/*.test.ts", "__test__/native/*.test.ts", "__test__/child-process/*.test.ts"],
      testTimeout: 30_000,
      // Many tests fail something on purpose; its log would bury what matters.
      env: { RIVET_LOG_LEVEL: "off" },
    },
  },
];

export default defineConfig({
  test: {
    projects: process.env.GREENROOM_TEST_HOST === "engine" ? [ENGINE] : EMBEDDED,
  },
});
