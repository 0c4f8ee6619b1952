// Golden histories and stores: npm run golden replays them and finishes their runs; npm run golden -- --write writes them
// anew, and then does the same. docs/CONTRIBUTING.md says when that is allowed.
import process from "node:process";
import { ensureInstalled, run } from "./ensure-installed.mjs";

const PATHS = ["packages/holdfast/test/golden", "packages/sqlite/test/golden", "packages/postgres/test/golden"];

ensureInstalled();
const test = (env) => run(process.execPath, ["scripts/test.mjs", ...PATHS], { env: { ...process.env, ...env } });
const written = process.argv.includes("--write") ? test({ HOLDFAST_GOLDEN: "write" }) : 0;
process.exit(written || test({}));
