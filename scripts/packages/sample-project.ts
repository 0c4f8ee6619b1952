// An empty project outside the repository that installs the tarballs, as an application would.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { root } from "./published-packages.ts";
import type { Tarball } from "./tarballs.ts";

const SAMPLES = path.join(root, "scripts", "packages", "sample");

export interface SampleProjectParams {
  readonly folder: string;
  readonly tarballs: readonly Tarball[];
  /** Packages that the application names; their own dependencies are installed with them. */
  readonly uses: readonly string[];
  readonly devDependencies: Readonly<Record<string, string>>;
}

export function makeProject({ folder, tarballs, uses, devDependencies }: SampleProjectParams): void {
  const files = filesByName(tarballs);
  const dependencies = Object.fromEntries(uses.map((name) => [name, files[name]]));
  // Versions that a package depends on and that are not in the registry yet.
  const overrides = Object.fromEntries(Object.entries(files).filter(([name]) => !uses.includes(name)));
  writeManifest(folder, { name: "application", type: "module", dependencies, devDependencies, overrides });
}

/** A workspace of pnpm whose only member is the folder `application`. */
export function makeWorkspace(folder: string, tarballs: readonly Tarball[]): void {
  writeManifest(folder, { name: "workspace", pnpm: { overrides: filesByName(tarballs) } });
  writeFileSync(path.join(folder, "pnpm-workspace.yaml"), "packages:\n  - application\n");
}

function filesByName(tarballs: readonly Tarball[]): Readonly<Record<string, string>> {
  return Object.fromEntries(tarballs.map(({ name, file }) => [name, `file:${file}`]));
}

function writeManifest(folder: string, manifest: object): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, "package.json"), JSON.stringify({ private: true, ...manifest }, null, 2));
}

/** As strict as a user may be: with the declarations of libraries checked, and declarations emitted. */
export function writeCompilerOptions(folder: string, moduleResolution: "nodenext" | "bundler", out: string): string {
  const file = path.join(folder, `tsconfig.${moduleResolution}.json`);
  const compilerOptions = {
    target: "es2022",
    lib: ["es2022"],
    types: ["node"],
    module: moduleResolution === "nodenext" ? "nodenext" : "esnext",
    moduleResolution,
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noPropertyAccessFromIndexSignature: true,
    isolatedModules: true,
    verbatimModuleSyntax: true,
    declaration: true,
    skipLibCheck: false,
    rootDir: ".",
    outDir: out,
  };
  writeFileSync(file, JSON.stringify({ compilerOptions, include: ["*.ts"] }, null, 2));
  return file;
}

export function copySamples(folder: string, names: readonly string[]): void {
  for (const name of names) cpSync(path.join(SAMPLES, name), path.join(folder, name));
}

/** The code in the README of a package, each block as a program. */
export function copyReadme(folder: string, packageFolder: string): void {
  const text = readFileSync(path.join(packageFolder, "README.md"), "utf8");
  for (const [index, block] of [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].entries()) {
    writeFileSync(path.join(folder, `readme-${path.basename(packageFolder)}-${index + 1}.ts`), block[1] ?? "");
  }
}
