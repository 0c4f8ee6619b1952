// The published packages: those under packages/ that are not private.
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly description?: string;
  readonly keywords?: readonly string[];
  readonly homepage?: string;
  readonly bugs?: string;
  readonly repository?: { readonly type: string; readonly url: string; readonly directory: string };
  readonly license?: string;
  readonly type?: string;
  readonly engines?: { readonly node: string };
  readonly bin?: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

export interface PublishedPackage {
  /** Under packages/. */
  readonly folder: string;
  readonly path: string;
  readonly manifest: Manifest;
}

export function readPublishedPackages(): PublishedPackage[] {
  const packages = path.join(root, "packages");
  return readdirSync(packages)
    .sort()
    .map((folder) => {
      const location = path.join(packages, folder);
      const manifest = JSON.parse(readFileSync(path.join(location, "package.json"), "utf8")) as Manifest;
      return { folder, path: location, manifest };
    })
    .filter(({ manifest }) => manifest.private !== true);
}

/** The declaration files of the entry points, relative to the package's folder. */
export function entryTypes({ exports }: Manifest): string[] {
  return Object.values(exports).flatMap((target) => (typeof target === "string" ? [] : (target.types ?? [])));
}
