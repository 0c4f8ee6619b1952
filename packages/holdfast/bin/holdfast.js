#!/usr/bin/env node
// `npx holdfast`: the command line is a package of its own, so that programs do not carry it along.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";

const COMMAND = "@holdfast/cli";

/** Next to this package, or in the project of the current folder: a global `holdfast` finds the command of a project. */
function find() {
  for (const place of [import.meta.url, path.join(process.cwd(), "command.js")]) {
    try {
      const manifest = createRequire(place).resolve(`${COMMAND}/package.json`);
      return path.join(path.dirname(manifest), JSON.parse(readFileSync(manifest, "utf8")).bin.holdfast);
    } catch {
      // the next place
    }
  }
  return undefined;
}

const bin = find();
if (bin === undefined) {
  process.stderr.write(
    `The command line is the package ${COMMAND}, which is not installed. Run: npm install --save-dev ${COMMAND}\n`,
  );
  process.exitCode = 2;
} else await import(pathToFileURL(bin).href);
