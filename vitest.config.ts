import { defaultServerConditions } from "vite";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";

// "holdfast-source" makes `import "holdfast"` load packages/holdfast/src, so tests need no build.
// Without "module", which only bundlers know: tests load what Node loads.
const conditions = ["holdfast-source", ...defaultServerConditions.filter((condition) => condition !== "module")];

// Tests of the core keep everything in memory and leave nothing behind, so they share the modules of their process: loading them
// anew for each of nearly three hundred files takes as long as many of the tests. A pool of processes belongs to its module.
const SHARED = [
  "packages/{holdfast,conformance}/src/**/*.test.ts",
  "packages/conformance/test/**/*.test.ts",
  "packages/holdfast/test/*.test.ts",
  "packages/holdfast/test/!(pool)/**/*.test.ts",
];
const ALONE = [
  "packages/**/src/**/*.test.ts",
  "packages/**/test/**/*.test.ts",
  "packages/dashboard/ui/**/*.test.ts",
  "scripts/**/*.test.ts",
  "examples/**/*.test.ts",
  "simulator/**/*.test.ts",
  "bench/**/*.test.ts",
  "torture/**/*.test.ts",
];
const NEVER = ["**/node_modules/**", "**/dist/**"];

// The engine's own tests once more, with a server between every process and its store: a part of them each time, all of them with
// HOLDFAST_WIRE=all (docs/CONTRIBUTING.md).
const BEHAVIOR = ["compensation", "ends", "messages", "ops"];
const WIRE = process.env["HOLDFAST_WIRE"] === "all" ? ["**"] : BEHAVIOR;

export default defineConfig({
  test: {
    globalSetup: ["./scripts/vitest-servers.ts"],
    maxWorkers: 2,
    projects: [
      project("alone", { include: ALONE, exclude: [...NEVER, ...SHARED] }),
      project("shared", { include: SHARED, exclude: NEVER, isolate: false }),
      project("wire", {
        include: WIRE.map((room) => `packages/holdfast/test/${room}/*.test.ts`),
        exclude: [...NEVER, "packages/holdfast/test/pool/**"],
        setupFiles: ["packages/server/test/store/behavior-network.ts"],
        isolate: false,
      }),
    ],
  },
});

function project(name: string, test: TestProjectInlineConfiguration["test"]): TestProjectInlineConfiguration {
  return {
    resolve: { conditions },
    ssr: { resolve: { conditions, externalConditions: ["holdfast-source", "node"] } },
    test: { name, pool: "forks", testTimeout: 30_000, hookTimeout: 30_000, ...test },
  };
}
