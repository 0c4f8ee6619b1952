// Where the browser tests find Chromium, in this order:
// 1. the program that HOLDFAST_TEST_CHROMIUM names;
// 2. chromium-headless-shell, chromium or google-chrome on the PATH;
// 3. for root on Debian, the one that apt-get installs (59 MB).
import { spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import path from "node:path";
import process from "node:process";

const VARIABLE = "HOLDFAST_TEST_CHROMIUM";
const PROGRAMS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

/** The program, if it is here already. */
export function findChromium(environment = process.env) {
  const given = environment[VARIABLE];
  if (given) {
    if (isProgram(given)) return given;
    throw new Error(`${VARIABLE} is ${given}, which is no program.`);
  }
  const folders = (environment.PATH ?? "").split(path.delimiter).filter((folder) => folder !== "");
  return PROGRAMS.flatMap((name) => folders.map((folder) => path.join(folder, name))).find(isProgram);
}

/** The program, or why there is none and what to do. */
export function findOrUnpackChromium() {
  const found = findChromium() ?? installed();
  if (found !== undefined) return { program: found };
  return {
    missing: `there is no Chromium here. Install it (apt-get install chromium-headless-shell), or set ${VARIABLE} to the program.`,
  };
}

function installed() {
  if (process.getuid?.() !== 0 || spawnSync("apt-get", ["--version"]).status !== 0) return undefined;
  const install = () => spawnSync("apt-get", ["install", "-y", "--no-install-recommends", "chromium-headless-shell"]);
  if (install().status !== 0) {
    spawnSync("apt-get", ["update"]);
    install();
  }
  return findChromium();
}

function isProgram(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
