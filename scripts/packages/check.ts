// Packs the published packages and uses them as an application would, in projects outside the repository: installed
// with npm and with pnpm, compiled (nodenext and bundler), executed, bundled. It needs the registry, or a cache of what
// it installs.
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { isBuiltin } from "node:module";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { build, type Format } from "esbuild";
import { checkImage } from "../deploy/image-check.ts";
import { CheckFailed, command, node } from "./commands.ts";
import { readPublishedPackages, root } from "./published-packages.ts";
import { findPublishingFaults } from "./publishing-faults.ts";
import { copyReadme, copySamples, makeProject, makeWorkspace, writeCompilerOptions } from "./sample-project.ts";
import { findLeftovers, packAll, type Tarball } from "./tarballs.ts";

const PNPM = "10.34.8";
/** The compiler of an application that does not have the newest one. The repository's own is used as well. */
const EARLIER_TYPESCRIPT = "5.9.3";
const TYPES = { "@types/node": "^20" };
/** Without a network, npm would retry for ten minutes. */
const RETRIES = { "fetch-retries": 1, "fetch-retry-mintimeout": 1_000, "fetch-retry-maxtimeout": 2_000 };
const retries = (prefix: string): string[] =>
  Object.entries(RETRIES).map(([name, value]) => `${prefix}${name}=${value}`);
const REGISTRY_CACHE = ["--prefer-offline", "--no-audit", "--no-fund", ...retries("--")];
const FALLBACK_DRIVER = "@holdfast/sqlite-node20";

/** Kept between runs; removed with node_modules. */
const cache = path.join(root, "node_modules", ".cache", "pack-check");
const newestTsc = path.join(root, "node_modules", "typescript", "bin", "tsc");

async function main(folder: string): Promise<void> {
  const tarballs = await step("npm pack", () => packAll(mkdir(folder, "tarballs")));
  const lines = [
    step("contents, publint and arethetypeswrong", () => checkTarballs(tarballs)),
    checkNpmProject(path.join(folder, "with-npm"), tarballs),
    checkPnpmProject(path.join(folder, "with-pnpm"), tarballs),
    step("the steps of the image", () => imageOf(path.join(folder, "image"), tarballs)),
  ];
  // Wait for all of them before anything is cleaned up.
  const failed = (await Promise.allSettled(lines)).find((outcome) => outcome.status === "rejected");
  if (failed) throw failed.reason;
}

async function checkNpmProject(folder: string, tarballs: readonly Tarball[]): Promise<void> {
  await step("an empty project installs them with npm", () => installWithNpm(folder, tarballs));
  await Promise.all([
    step(`npm: a strict program compiles, also with TypeScript ${EARLIER_TYPESCRIPT}`, () => compileAll(folder)),
    step("npm: a worker bundled with esbuild runs on SQLite", () => checkBundles(folder)),
  ]);
  await step("npm: the compiled program runs on SQLite", () => expectOutput(folder, "out/by-name.js", "Hello, Ada!"));
}

async function checkPnpmProject(folder: string, tarballs: readonly Tarball[]): Promise<void> {
  await step(`an empty project installs them with pnpm ${PNPM}`, () => installWithPnpm(folder, tarballs));
  await step("pnpm: the program compiles and runs on SQLite", () => runWithPnpm(path.join(folder, "application")));
}

async function imageOf(folder: string, tarballs: readonly Tarball[]): Promise<void> {
  const packages = mkdir(folder, "packages");
  for (const { file } of tarballs) copyFileSync(file, path.join(packages, path.basename(file)));
  await checkImage(folder, { npm_config_prefer_offline: "true" });
}

async function checkTarballs(tarballs: readonly Tarball[]): Promise<void> {
  for (const { name, file, files } of tarballs) {
    const published = readPublishedPackages().find(({ manifest }) => manifest.name === name);
    const read = (wanted: string): string => readFileSync(path.join(published?.path ?? "", wanted), "utf8");
    const findings = [...findLeftovers(files, read), ...(await findPublishingFaults(file))];
    if (findings.length > 0) throw new CheckFailed([`${name}:`, ...findings].join("\n  "));
  }
}

async function installWithNpm(folder: string, tarballs: readonly Tarball[]): Promise<void> {
  const uses = ["holdfast", "@holdfast/sqlite", "@holdfast/postgres", "@holdfast/telemetry", "@holdfast/dashboard"];
  const devDependencies = { ...TYPES, typescript: EARLIER_TYPESCRIPT };
  makeProject({ folder, tarballs, uses, devDependencies });
  copySamples(folder, ["by-name.ts", "worker.ts", "both-stores.ts", "held-values.ts"]);
  await command("npm", ["install", ...REGISTRY_CACHE], { cwd: folder });
  // A second copy of the core would have its own classes, and clients would not be recognized across copies.
  const copies = ["sqlite", "postgres", "telemetry"].map((name) =>
    path.join(folder, "node_modules/@holdfast", name, "node_modules"),
  );
  const second = copies.find((place) => existsSync(path.join(place, "holdfast")));
  if (second !== undefined) throw new CheckFailed(`npm installed a second copy of holdfast in ${second}`);
  const installed = existsSync(path.join(folder, "node_modules", FALLBACK_DRIVER));
  const needed = !isBuiltin("node:sqlite");
  if (installed === needed) return;
  throw new CheckFailed(
    `${FALLBACK_DRIVER} is ${installed ? "" : "not "}installed, but Node ${process.versions.node} has ${needed ? "no" : "its own"} SQLite`,
  );
}

async function compileAll(folder: string): Promise<void> {
  for (const published of readPublishedPackages()) copyReadme(folder, published.path);
  const nodenext = writeCompilerOptions(folder, "nodenext", "out");
  const bundler = writeCompilerOptions(folder, "bundler", "out-bundler");
  const earlierTsc = path.join(folder, "node_modules", "typescript", "bin", "tsc");
  const compile = async (tsc: string): Promise<void> => {
    for (const project of [nodenext, bundler]) await node(tsc, ["--project", project], { cwd: folder });
  };
  await compile(newestTsc);
  await compile(earlierTsc);
}

/**
 * Minified, because that breaks code that relies on names; in both formats, because only modules know their own URL.
 */
async function checkBundles(folder: string): Promise<void> {
  await bundle(folder, "worker.ts", "esm", "bundle/worker.mjs");
  await bundle(folder, "worker.ts", "cjs", "bundle/worker.cjs");
  await bundle(folder, "both-stores.ts", "cjs", "bundle/both-stores.cjs");
  // Besides Node, a bundle needs only the native driver, which it finds in the folder of the project.
  await expectOutput(folder, "bundle/worker.mjs", "counted 2");
  // The same id on the same file is the same run, whichever process starts it.
  await expectOutput(folder, "bundle/worker.cjs", "counted 2");
  await expectOutput(folder, "bundle/both-stores.cjs", "hello from a bundle");
  const text = readFileSync(path.join(folder, "bundle/both-stores.cjs"), "utf8");
  if (!text.includes("create function commit_runs"))
    throw new CheckFailed("the bundle lacks the schema for PostgreSQL");
}

async function bundle(folder: string, entry: string, format: Format, outfile: string): Promise<void> {
  const { errors, warnings } = await build({
    absWorkingDir: folder,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    platform: "node",
    target: "node20",
    format,
    outfile,
    // A bundle that is not a module has no import.meta; the packages handle that.
    logOverride: { "empty-import-meta": "silent" },
    logLevel: "silent",
  });
  const messages = [...errors, ...warnings].map(({ text, location }) => `${location?.file}: ${text}`);
  if (messages.length > 0) throw new CheckFailed([`esbuild, ${entry} as ${format}:`, ...messages].join("\n  "));
}

/** A member of a workspace without hoisting: only the application sees the adapter, the core does not. */
async function installWithPnpm(folder: string, tarballs: readonly Tarball[]): Promise<void> {
  makeWorkspace(folder, tarballs);
  const application = path.join(folder, "application");
  makeProject({ folder: application, tarballs, uses: ["holdfast", "@holdfast/sqlite"], devDependencies: TYPES });
  const home = mkdir(cache, `pnpm-${PNPM}`);
  const pnpm = path.join(home, "node_modules", "pnpm", "bin", "pnpm.cjs");
  if (!existsSync(pnpm)) {
    await command("npm", ["install", "--prefix", home, ...REGISTRY_CACHE, `pnpm@${PNPM}`], { cwd: home });
  }
  const stores = [`--config.store-dir=${path.join(cache, "store")}`, `--config.cache-dir=${path.join(cache, "pnpm")}`];
  await node(pnpm, ["install", "--prefer-offline", "--config.hoist=false", ...retries("--config."), ...stores], {
    cwd: folder,
  });
}

async function runWithPnpm(folder: string): Promise<void> {
  copySamples(folder, ["by-name.ts", "worker.ts"]);
  const project = writeCompilerOptions(folder, "nodenext", "out");
  await node(newestTsc, ["--project", project], { cwd: folder });
  await expectOutput(folder, "out/worker.js", "counted 2");
  const missing = 'connect: "postgres:" needs the package @holdfast/postgres, which is not installed';
  await expectOutput(folder, "out/by-name.js", "Hello, Ada!", missing);
}

async function expectOutput(folder: string, program: string, ...wanted: readonly string[]): Promise<void> {
  const output = await node(path.join(folder, program), [], { cwd: folder });
  for (const text of wanted) {
    if (!output.includes(text))
      throw new CheckFailed(`${program} should have printed "${text}", but it printed:\n${output}`);
  }
}

function mkdir(...parts: readonly string[]): string {
  const folder = path.join(...parts);
  mkdirSync(folder, { recursive: true });
  return folder;
}

async function step<T>(name: string, work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  try {
    const result = await work();
    console.log(`ok in ${seconds(began).padStart(4)} s: ${name}`);
    return result;
  } catch (error) {
    console.error(`FAILED after ${seconds(began)} s: ${name}`);
    throw error;
  }
}

function seconds(since: number): string {
  return ((performance.now() - since) / 1000).toFixed(1);
}

const folder = realpathSync(mkdtempSync(path.join(os.tmpdir(), "holdfast-packages-")));
const began = performance.now();
try {
  await main(folder);
  console.log(`pack-check: the packages can be installed, compiled, bundled and used (${seconds(began)} s)`);
} catch (error) {
  if (!(error instanceof CheckFailed)) throw error;
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
