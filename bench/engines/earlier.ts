/**
 * Holdfast at another commit, measured beside the present one: the tree of that commit is unpacked and built in a
 * separate folder, and its own bench processes are started there.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { EngineDefinition } from "../lab/engine.ts";
import { definitionOf } from "./definitions.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const CACHE = path.join(ROOT, "node_modules", ".cache", "holdfast-bench");

/** The same engines at that commit, named `<engine>@<commit>`. */
export async function earlier(ref: string, names: readonly string[]): Promise<EngineDefinition[]> {
  const commit = git("rev-parse", "--short=10", "--verify", `${ref}^{commit}`).trim();
  const tree = treeOf(commit);
  const definitions = await Promise.all(names.map(definitionOf));
  return definitions.map((one) => ({
    ...one,
    name: `${one.name}@${commit}`,
    title: `${one.title}, at ${commit}`,
    tree,
  }));
}

function treeOf(commit: string): string {
  const tree = path.join(CACHE, commit);
  if (existsSync(tree)) return tree;
  console.error(`Building Holdfast at ${commit}`);
  const unfinished = `${tree}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true });
  const archive = execFileSync("git", ["archive", commit], { cwd: ROOT, maxBuffer: 1 << 28 });
  execFileSync("tar", ["-x"], { cwd: unfinished, input: archive });
  linkModules(unfinished);
  execFileSync(process.execPath, [path.join(ROOT, "node_modules", "typescript", "bin", "tsc"), "-b"], {
    cwd: unfinished,
    stdio: ["ignore", "inherit", "inherit"],
  });
  renameSync(unfinished, tree);
  return tree;
}

/** The dependencies of the present tree, and the packages of the earlier one: links between packages are relative. */
function linkModules(tree: string): void {
  const modules = path.join(tree, "node_modules");
  mkdirSync(path.join(modules, "@holdfast"), { recursive: true });
  for (const name of readdirSync(path.join(ROOT, "node_modules"))) {
    if (name === "holdfast" || name === "@holdfast" || name === ".cache") continue;
    symlinkSync(path.join(ROOT, "node_modules", name), path.join(modules, name));
  }
  // Relative, because the folder is renamed: a link that leads nowhere would have the packages of the present tree found instead.
  symlinkSync(path.join("..", "packages", "holdfast"), path.join(modules, "holdfast"));
  for (const name of readdirSync(path.join(tree, "packages"))) {
    if (name !== "holdfast")
      symlinkSync(path.join("..", "..", "packages", name), path.join(modules, "@holdfast", name));
  }
}

function git(...args: string[]): string {
  return execFileSync("git", args, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}
