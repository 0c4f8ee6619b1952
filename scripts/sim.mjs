// Runs the simulator from its sources: npm run sim -- --seed 42
import process from "node:process";
import { ensureInstalled, run } from "./ensure-installed.mjs";

ensureInstalled();
process.exit(
  run(process.execPath, ["--import", "tsx", "simulator/main.ts", ...process.argv.slice(2)], { stdio: "inherit" }),
);
