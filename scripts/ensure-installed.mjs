// Makes a fresh clone usable: checks the Node version and installs the dependencies if they are missing or older than
// the lockfile. Uses only Node itself, because it runs before anything is installed.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");

/** Runs a command from the repository root with its output on the terminal, and returns its exit code. */
export function run(command, args, options = {}) {
  const result = spawnSync(command, args, {
    cwd: root,
    stdio: "inherit",
    // npm and the tools in node_modules/.bin are command scripts on Windows, which need a shell.
    shell: process.platform === "win32" && command !== process.execPath,
    ...options,
  });
  if (result.error) console.error(`Could not run ${command}: ${result.error.message}`);
  return result.status ?? 1;
}

/** The path of a tool that the dependencies install, for example `bin("tsc")`. */
export function bin(name) {
  return path.join(root, "node_modules", ".bin", name);
}

export function ensureInstalled() {
  checkNodeVersion();
  if (isInstalled()) return;
  console.log("Dependencies are missing or older than package-lock.json: running npm ci");
  const code = run("npm", ["ci"]);
  if (code !== 0) {
    console.error("npm ci failed (see above). Fix the cause and run the command again.");
    process.exit(code);
  }
}

function checkNodeVersion() {
  const { engines } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
  const wanted = engines.node.replace(/^>=/, "");
  if (compareVersions(process.versions.node, wanted) >= 0) return;
  console.error(
    `Holdfast needs Node ${wanted} or newer, but this is Node ${process.versions.node} (${process.execPath}).`,
  );
  console.error("Install a newer Node (see .nvmrc) and run the command again.");
  process.exit(1);
}

function compareVersions(a, b) {
  const left = a.split(".").map(Number);
  const right = b.split(".").map(Number);
  for (let i = 0; i < 3; i += 1) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

// npm writes node_modules/.package-lock.json at the end of every successful install, so its age is the install's age.
function isInstalled() {
  const installed = path.join(root, "node_modules", ".package-lock.json");
  const wanted = path.join(root, "package-lock.json");
  return existsSync(installed) && statSync(installed).mtimeMs >= statSync(wanted).mtimeMs;
}
