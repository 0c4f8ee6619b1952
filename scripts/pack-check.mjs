// Packs the published packages and uses them as an application would: npm run pack-check
import process from "node:process";
import { ensureInstalled, run } from "./ensure-installed.mjs";

ensureInstalled();
process.exit(run(process.execPath, ["--import", "tsx", "scripts/packages/check.ts"]));
