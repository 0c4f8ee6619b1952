// Runs the benchmarks on the built packages: npm run bench -- limit
import process from "node:process";
import { ensureInstalled, run } from "./ensure-installed.mjs";

ensureInstalled();
const built = run("npm", ["run", "--silent", "build"]);
process.exit(
  built ||
    run(process.execPath, ["--expose-gc", "--import", "tsx", "bench/main.ts", ...process.argv.slice(2)], {
      stdio: "inherit",
    }) ||
    0,
);
