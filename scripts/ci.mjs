// Everything that must hold before a change is merged, in order, stopping at the first failure.
import { existsSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { bin, ensureInstalled, root, run } from "./ensure-installed.mjs";

const steps = [
  { name: "format", run: () => run(bin("biome"), ["check", "--linter-enabled=false", "."]) },
  { name: "lint", run: () => run(bin("biome"), ["lint", "--error-on-warnings", "."]) },
  { name: "tidy", run: () => run(bin("vitest"), ["run", "scripts/tidy"]) },
  { name: "types", run: () => run("npm", ["run", "--silent", "types"]) },
  { name: "tests", run: () => run(process.execPath, ["scripts/test.mjs"]) },
  { name: "examples", run: runExamples },
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

function runExamples() {
  const example = path.join("examples", "order", "main.ts");
  if (existsSync(path.join(root, example))) return run(process.execPath, ["scripts/start.mjs"]);
  console.log(`${example} does not exist yet: nothing to run`);
  return 0;
}

function seconds(since) {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}
