// Prepares a release; a dry run unless it is told to write, and nothing is ever published from here:
//   npm run release -- 0.2.0           says what would change, packs and checks the packages
//   npm run release -- 0.2.0 --write   changes the versions and CHANGELOG.md, commits, tags, and writes the notes
//   npm run release -- pack --to dir   packs the packages of this tree
import process from "node:process";
import { ensureInstalled, run } from "./ensure-installed.mjs";

ensureInstalled();
process.exit(run(process.execPath, ["--import", "tsx", "scripts/release/main.ts", ...process.argv.slice(2)]));
