// Packs the packages, and reports files that should not be in a package, or are missing.
import path from "node:path";
import { CheckFailed, command } from "./commands.ts";
import { readPublishedPackages, root } from "./published-packages.ts";

export interface Tarball {
  readonly name: string;
  readonly file: string;
  /** The paths of its files. */
  readonly files: readonly string[];
}

interface PackReport {
  readonly name: string;
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

export async function packAll(folder: string): Promise<Tarball[]> {
  const names = readPublishedPackages().map(({ manifest }) => manifest.name);
  const chosen = names.flatMap((name) => ["--workspace", name]);
  const output = await command("npm", ["pack", "--json", "--pack-destination", folder, ...chosen], { cwd: root });
  // The scripts that build a package print around the report.
  const report = /^\[$[\s\S]*^\]$/m.exec(output)?.[0];
  if (report === undefined) throw new CheckFailed(`npm pack printed no report:\n${output}`);
  return (JSON.parse(report) as PackReport[]).map(({ name, filename, files }) => ({
    name,
    file: path.join(folder, filename),
    files: files.map((file) => file.path),
  }));
}

/** `read` returns the text of a file of the package. */
export function findLeftovers(files: readonly string[], read: (file: string) => string): string[] {
  const packed = new Set(files);
  const missing = ["package.json", "README.md", "LICENSE"].filter((file) => !packed.has(file));
  return [
    ...missing.map((file) => `${file} is missing`),
    ...files.filter((file) => /\.test\.|\.tsbuildinfo$|^test\/|^bench\//.test(file)).map((file) => `${file} is packed`),
    ...files.filter((file) => isStale(file, packed)).map((file) => `${file} is built from a source that is gone`),
    ...files.flatMap((file) => brokenMaps(file, packed, read)),
  ];
}

function isStale(file: string, packed: ReadonlySet<string>): boolean {
  // The pages of the dashboard are bundles.
  const stem = /^dist\/(?!ui\/)(.*?)(?:\.d\.ts|\.js)(?:\.map)?$/.exec(file)?.[1];
  return stem !== undefined && !packed.has(`src/${stem}.ts`);
}

function brokenMaps(file: string, packed: ReadonlySet<string>, read: (file: string) => string): string[] {
  const folder = path.posix.dirname(file);
  if (!file.endsWith(".map")) return [];
  const { sources } = JSON.parse(read(file)) as { readonly sources: readonly string[] };
  return sources
    .filter((source) => !packed.has(path.posix.join(folder, source)))
    .map((source) => `${file} points to ${source}, which is not packed`);
}
