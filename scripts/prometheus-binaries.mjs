// Where the tests find the programs of Prometheus, prometheus and promtool, in this order:
// 1. in the folder that HOLDFAST_TEST_PROMETHEUS names;
// 2. installed on this machine;
// 3. in Debian's package, unpacked below node_modules/.cache when first needed (90 MB): nothing is installed, no service is
//    started, and only a machine without package lists needs root, to get them.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import process from "node:process";
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
  const why = unpack(cache);
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
  return path.join(cache, `${process.platform}-${process.arch}`, "usr", "bin");
}

function unpack(cache) {
  if (spawnSync("dpkg-deb", ["--version"]).status !== 0) return "and this is no Debian that could get it by itself";
  const target = path.join(cache, `${process.platform}-${process.arch}`);
  // Of its own, and renamed when it is complete: two test runs may do this at once, and one may be killed.
  const draft = `${target}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  try {
    const options = { cwd: draft, encoding: "utf8" };
    const download = () => spawnSync("apt-get", ["download", "prometheus"], options);
    let downloaded = download();
    if (downloaded.status !== 0 && process.getuid?.() === 0) {
      spawnSync("apt-get", ["update"], options);
      downloaded = download();
    }
    if (downloaded.status !== 0) return `apt-get download failed: ${lastLine(downloaded)}`;
    const file = readdirSync(draft).find((name) => name.endsWith(".deb"));
    const extracted = spawnSync("dpkg-deb", ["-x", file, "content"], options);
    if (extracted.status !== 0) return `dpkg-deb failed: ${lastLine(extracted)}`;
    if (!existsSync(target)) renameSync(path.join(draft, "content"), target);
    return undefined;
  } catch (error) {
    return existsSync(target) ? undefined : error.message;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function lastLine({ stderr, error }) {
  return (stderr || String(error ?? "")).trim().split("\n").at(-1);
}
