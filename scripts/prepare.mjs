// Runs at the end of every `npm ci` and `npm install`, so that a fresh install has built packages. npm also runs it for
// a dry run, which has installed no compiler.
import process from "node:process";
import { bin, run } from "./ensure-installed.mjs";

if (process.env.npm_config_dry_run !== "true") process.exit(run(bin("tsc"), ["-b"]));
