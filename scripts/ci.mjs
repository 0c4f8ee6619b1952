// Everything that must hold before a change is merged, in order, stopping at the first failure.
import process from "node:process";
import { bin, ensureInstalled, run } from "./ensure-installed.mjs";

const steps = [
  { name: "format", run: () => run(bin("biome"), ["check", "--linter-enabled=false", "."]) },
  { name: "lint", run: () => run(bin("biome"), ["lint", "--error-on-warnings", "."]) },
  { name: "tidy", run: () => run(bin("vitest"), ["run", "scripts/tidy"]) },
  { name: "types", run: () => run("npm", ["run", "--silent", "types"]) },
  { name: "tests", run: () => run(process.execPath, ["scripts/test.mjs"]) },
  { name: "examples", run: () => run(process.execPath, ["examples/check.mjs"]) },
  { name: "packages", run: () => run(process.execPath, ["scripts/pack-check.mjs"]) },
];

ensureInstalled();
const began = performance.now();
for (const step of steps) {
  console.log(`\n=== ${step.name} ===`);
  const stepBegan = performance.now();
  const code = step.run();
  const took = seconds(stepBegan);
  if (code !== 0) {
    console.error(`=== ${step.name}: FAILED with exit code ${code} after ${took} ===`);
    process.exit(code);
  }
  console.log(`=== ${step.name}: ok in ${took} ===`);
}
console.log(`\nci: all ${steps.length} steps passed in ${seconds(began)}`);

function seconds(since) {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}
