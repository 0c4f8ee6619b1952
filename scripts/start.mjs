// Runs the order example against freshly built packages: npm start [-- arguments of the example]
import { existsSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { bin, ensureInstalled, root, run } from "./ensure-installed.mjs";

const example = path.join("examples", "order", "main.ts");

ensureInstalled();
if (!existsSync(path.join(root, example))) {
  console.error(`There is no ${example} in this checkout, so there is nothing to start.`);
  process.exit(1);
}

// `tsc -b` compares inputs with outputs by itself: it builds what is missing or stale and is quick otherwise.
const buildCode = run(bin("tsc"), ["-b"]);
if (buildCode !== 0) {
  console.error("The build failed (see above); the example was not started.");
  process.exit(buildCode);
}
process.exit(run(bin("tsx"), [example, ...process.argv.slice(2)]));
