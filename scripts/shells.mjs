// Where the tests find bash, zsh and fish, in this order:
// 1. installed on this machine;
// 2. zsh and fish in Debian's packages, unpacked below node_modules/.cache when first needed (8 MB).
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { folderOfMachine, libraryPath, unpackDebianPackages } from "./debian-packages.mjs";
import { root } from "./ensure-installed.mjs";

const CACHE = path.join(root, "node_modules", ".cache", "holdfast-shells");

/** By shell: its packages, its program, how it is told where its own files are, and its environment. */
const UNPACKED = {
  zsh: {
    packages: ["zsh", "zsh-common"],
    program: ["bin/zsh", "usr/bin/zsh"],
    setup: (target) => [
      `module_path=(${foldersBelow(path.join(target, "usr/lib"), "zsh").join(" ")})`,
      `fpath=(${path.join(target, "usr/share/zsh/functions")}/**/*(/))`,
    ],
  },
  fish: {
    packages: ["fish", "fish-common", "libpcre2-32-0"],
    program: ["usr/bin/fish"],
    setup: (target) => [`set fish_function_path ${path.join(target, "usr/share/fish/functions")}`],
  },
};

/** How a shell is called, with the lines it must execute before it finds its own files; or why there is none. */
export function findOrUnpackShell(name, cache = CACHE) {
  if (runs(name, {})) return { program: name, env: {}, setup: [] };
  const unpacked = UNPACKED[name];
  if (unpacked === undefined) return { missing: `there is no ${name} here` };
  const target = path.join(folderOfMachine(cache), name);
  const why = existsSync(target) ? undefined : unpackDebianPackages(unpacked.packages, target);
  if (why !== undefined) return { missing: `there is no ${name} here (${why})` };
  const program = unpacked.program.map((file) => path.join(target, file)).find(existsSync) ?? name;
  const env = { LD_LIBRARY_PATH: libraryPath(target) };
  if (runs(program, env)) return { program, env, setup: unpacked.setup(target) };
  return { missing: `there is no ${name} here (Debian's package does not fit this machine)` };
}

function runs(program, env) {
  return spawnSync(program, ["-c", "true"], { env: { ...process.env, ...env } }).status === 0;
}

/** `usr/lib/<architecture>/zsh/<version>`. */
function foldersBelow(lib, name) {
  return readdirSync(lib)
    .map((architecture) => path.join(lib, architecture, name))
    .filter(existsSync)
    .flatMap((folder) => readdirSync(folder).map((version) => path.join(folder, version)));
}
