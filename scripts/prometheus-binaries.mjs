// Where the tests find the programs of Prometheus, prometheus and promtool, in this order:
// 1. in the folder that HOLDFAST_TEST_PROMETHEUS names;
// 2. installed on this machine;
// 3. in Debian's package, unpacked below node_modules/.cache when first needed (90 MB).
import { existsSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { folderOfMachine, unpackDebianPackages } from "./debian-packages.mjs";
import { root } from "./ensure-installed.mjs";

const VARIABLE = "HOLDFAST_TEST_PROMETHEUS";
const CACHE = path.join(root, "node_modules", ".cache", "holdfast-prometheus");
const PROGRAMS = ["prometheus", "promtool"];

/** The folder with the programs, if they are here already. */
export function findPrometheus(cache = CACHE) {
  const given = process.env[VARIABLE];
  if (given) {
    if (hasPrograms(given)) return given;
    throw new Error(`${VARIABLE} is ${given}, a folder without ${PROGRAMS.join(" and ")}.`);
  }
  return [...(process.env.PATH ?? "").split(path.delimiter), unpacked(cache)].find(hasPrograms);
}

/** The folder with the programs, or why there are none and what to do. */
export function findOrUnpackPrometheus(cache = CACHE) {
  const found = findPrometheus(cache);
  if (found !== undefined) return { folder: found };
  const why = unpackDebianPackages(["prometheus"], folderOfMachine(cache));
  if (why === undefined) return { folder: unpacked(cache) };
  return {
    missing: [
      `there is no Prometheus here (${why}). Install it (apt-get install prometheus, brew install prometheus), or set`,
      `${VARIABLE} to a folder with ${PROGRAMS.join(" and ")}.`,
    ].join(" "),
  };
}

function hasPrograms(folder) {
  return folder !== "" && PROGRAMS.every((program) => existsSync(path.join(folder, program)));
}

function unpacked(cache) {
  return path.join(folderOfMachine(cache), "usr", "bin");
}
