import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: [
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
    ],
  },
});
