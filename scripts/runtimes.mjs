// Runs scripts/runtimes/smoke.mjs on every supported runtime, and on every store:
//   npm run runtimes [-- node22 bun …]
// The runtimes come from the package registry, from packages that contain the binary itself, so that no install script
// has to run. They take about 570 MB, so they are not dependencies; they are installed under node_modules/.cache when
// first needed.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { bin, ensureInstalled, root, run } from "./ensure-installed.mjs";
import { startServers } from "./test-servers.mjs";

const CACHE = path.join(root, "node_modules", ".cache", "holdfast-runtimes");
const PLATFORM = `${process.platform}-${process.arch}`;
const SMOKE = path.join("scripts", "runtimes", "smoke.mjs");
const PATIENCE_MS = 60_000;

/** By platform, as each project spells it. If one is missing, the runtime is skipped. */
const DENO = {
  "linux-x64": "linux-x64-glibc",
  "linux-arm64": "linux-arm64-glibc",
  "darwin-x64": "darwin-x64",
  "darwin-arm64": "darwin-arm64",
};
const BUN = {
  "linux-x64": "linux-x64",
  "linux-arm64": "linux-aarch64",
  "darwin-x64": "darwin-x64",
  "darwin-arm64": "darwin-aarch64",
};
const NODE = { "linux-x64": "linux-x64", "linux-arm64": "linux-arm64", "darwin-arm64": "darwin-arm64" };

const RUNTIMES = [
  { name: "this-node", command: [process.execPath] },
  { name: "node22", package: `node-${NODE[PLATFORM]}`, version: "22.23.3", has: NODE[PLATFORM], file: "bin/node" },
  { name: "node24", package: `node-${NODE[PLATFORM]}`, version: "24.21.0", has: NODE[PLATFORM], file: "bin/node" },
  { name: "bun", package: `@oven/bun-${BUN[PLATFORM]}`, version: "1.4.4", has: BUN[PLATFORM], file: "bin/bun" },
  {
    name: "deno",
    package: `@deno/${DENO[PLATFORM]}`,
    version: "2.9.6",
    has: DENO[PLATFORM],
    file: "deno",
    args: ["run", "--allow-all"],
  },
];

ensureInstalled();
if (run(bin("tsc"), ["-b"]) !== 0) process.exit(1);
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !RUNTIMES.some((runtime) => runtime.name === name));
if (unknown.length > 0) {
  console.error(`Unknown runtime ${unknown.join(", ")}. Choose from: ${RUNTIMES.map(({ name }) => name).join(", ")}.`);
  process.exit(1);
}

const servers = await startServers().catch((error) => {
  console.log(`PostgreSQL is skipped: ${error.message}`);
  return undefined;
});
const folder = mkdtempSync(path.join(os.tmpdir(), "holdfast-runtimes-"));
let failed = 0;
try {
  for (const runtime of RUNTIMES) {
    if (wanted.length > 0 && !wanted.includes(runtime.name)) continue;
    const command = runtime.command ?? install(runtime);
    if (typeof command === "string") console.log(`skipped ${runtime.name}: ${command}`);
    else for (const store of storesFor(runtime)) if (!smoke(runtime, command, store)) failed += 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
  if (servers) await dropSchemas(servers.postgresUrl);
  servers?.stop();
}
process.exit(failed === 0 ? 0 : 1);

function storesFor({ name }) {
  const stores = [
    { store: "memory", url: "memory:" },
    { store: "sqlite", url: `file:${path.join(folder, `${name}.db`)}` },
  ];
  if (!servers) return stores;
  const url = new URL(servers.postgresUrl);
  url.searchParams.set("schema", schemaOf(name));
  return [...stores, { store: "postgres", url: url.toString() }];
}

/** Removes the schemas, in case the server is a permanent one. */
async function dropSchemas(connectionString) {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString });
  await client.connect();
  for (const { name } of RUNTIMES) await client.query(`drop schema if exists "${schemaOf(name)}" cascade`);
  await client.end();
}

function schemaOf(name) {
  return `holdfast runtime ${name} ${process.pid}`;
}

/** The command of the runtime, or why it is not available. */
function install({ name, package: packageName, version, has, file, args = [] }) {
  if (has === undefined) return `the registry has no package for ${PLATFORM}`;
  const prefix = path.join(CACHE, `${name}-${version}`);
  const executable = path.join(prefix, "node_modules", packageName, file);
  if (!existsSync(executable)) {
    mkdirSync(prefix, { recursive: true });
    writeFileSync(path.join(prefix, "package.json"), '{ "private": true }\n');
    const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--loglevel=error"];
    const result = spawnSync("npm", ["install", ...flags, `${packageName}@${version}`], {
      cwd: prefix,
      encoding: "utf8",
    });
    if (result.status !== 0 || !existsSync(executable)) {
      const why = (result.stderr || String(result.error ?? "")).trim().split("\n")[0];
      return `${packageName}@${version} could not be installed from the registry (${why})`;
    }
  }
  return [executable, ...args];
}

/** A warning counts as a failure: users of Holdfast would see it. */
function smoke({ name, version }, [executable, ...args], { store, url }) {
  const began = performance.now();
  const { stdout, stderr, status, error } = spawnSync(executable, [...args, SMOKE, url], {
    cwd: root,
    encoding: "utf8",
    timeout: PATIENCE_MS,
    env: { ...process.env, NODE_OPTIONS: "" },
  });
  const good = status === 0 && stdout === "ok\n" && stderr === "";
  const took = `${((performance.now() - began) / 1000).toFixed(1)} s`;
  const what = `${name}${version ? ` ${version}` : ` ${process.versions.node}`} on ${store}`;
  console.log(`${good ? "ok     " : "FAILED "} ${what} (${took})`);
  if (!good) console.log(`${stdout}${stderr}${error ? `${error.message}\n` : ""}exit code ${status}`);
  return good;
}
