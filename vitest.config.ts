import { defaultServerConditions } from "vite";
import { defineConfig } from "vitest/config";

// "holdfast-source" makes `import "holdfast"` load packages/holdfast/src, so tests need no build.
// Without "module", which only bundlers know: tests load what Node loads.
const conditions = ["holdfast-source", ...defaultServerConditions.filter((condition) => condition !== "module")];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: ["holdfast-source", "node"] } },
  test: {
    include: [
      "packages/**/src/**/*.test.ts",
      "packages/**/test/**/*.test.ts",
      "scripts/**/*.test.ts",
      "examples/**/*.test.ts",
      "simulator/**/*.test.ts",
      "bench/**/*.test.ts",
      "torture/**/*.test.ts",
    ],
    exclude: ["**/node_modules/**", "**/dist/**"],
    globalSetup: ["./scripts/vitest-servers.ts"],
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
