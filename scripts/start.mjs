// Runs an example against freshly built packages, the order example unless another is named:
//   npm start [name of an example] [-- arguments of the example]
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { bin, ensureInstalled, root, run } from "./ensure-installed.mjs";

const { name, args } = readArguments(process.argv.slice(2));
const example = path.join("examples", name, "main.ts");

ensureInstalled();
if (!existsSync(path.join(root, example))) {
  console.error(`There is no example ${JSON.stringify(name)}. Choose from: ${exampleNames().join(", ")}.`);
  process.exit(1);
}

// `tsc -b` compares inputs with outputs: it builds what is missing or stale, and is quick otherwise.
const buildCode = run(bin("tsc"), ["-b"]);
if (buildCode !== 0) {
  console.error("The build failed (see above); the example was not started.");
  process.exit(buildCode);
}
process.exit(run(bin("tsx"), [example, ...args]));

function readArguments([first, ...rest]) {
  if (first === undefined || first.startsWith("-")) return { name: "order", args: process.argv.slice(2) };
  return { name: first, args: rest };
}

function exampleNames() {
  const entries = readdirSync(path.join(root, "examples"), { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory() && existsSync(path.join(root, "examples", entry.name, "main.ts")))
    .map((entry) => entry.name)
    .sort();
}
