// Runs the benchmarks on the built packages: npm run bench -- ten --store sqlite. `peers` first installs the packages
// it compares with, into bench/peers, so that other installs do not pay for them.
import { existsSync, statSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { ensureInstalled, root, run } from "./ensure-installed.mjs";

const args = process.argv.slice(2);
const report = args[0] === "report";

ensureInstalled();
if (args[0] === "peers") installPeers();
const built = report ? 0 : run("npm", ["run", "--silent", "build"]);
process.exit(built || run(process.execPath, ["--expose-gc", "--import", "tsx", "bench/main.ts", ...args]));

function installPeers() {
  const folder = path.join(root, "bench", "peers");
  const installed = path.join(folder, "node_modules", ".package-lock.json");
  const wanted = path.join(folder, "package-lock.json");
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(wanted).mtimeMs) return;
  console.log("Installing the peers into bench/peers");
  const code = run("npm", ["ci", "--ignore-scripts"], { cwd: folder });
  if (code !== 0) process.exit(code);
}
