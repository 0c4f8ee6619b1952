// The files that have the version of Holdfast, with another one. All packages have the same.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";

const VERSION_SOURCES = ["packages/server/src/store-service/version.ts", "packages/remote/src/version.ts"];
const CHART = "deploy/helm/holdfast/Chart.yaml";
const DEPENDENCIES = ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"] as const;

type Manifest = { name: string; version: string } & Partial<
  Record<(typeof DEPENDENCIES)[number], Record<string, string>>
>;

export function currentVersion(root: string): string {
  return (JSON.parse(readFileSync(path.join(root, "packages/holdfast/package.json"), "utf8")) as Manifest).version;
}

/** Path and new text of every file that changes; the lockfile is npm's own affair. */
export function withVersion(root: string, version: string): Map<string, string> {
  const manifests = ["package.json", "examples/package.json", ...packageManifests(root)].filter((file) =>
    existsSync(path.join(root, file)),
  );
  const own = new Set(manifests.map((file) => readManifest(root, file).name));
  const files = new Map<string, string>();
  for (const file of manifests) {
    const manifest = readManifest(root, file);
    if (manifest.version !== undefined) manifest.version = version;
    for (const kind of DEPENDENCIES)
      for (const [name, range] of Object.entries(manifest[kind] ?? {}))
        if (own.has(name) && /\d/.test(range))
          (manifest[kind] as Record<string, string>)[name] = `${range.startsWith("^") ? "^" : ""}${version}`;
    files.set(file, `${JSON.stringify(manifest, null, 2)}\n`);
  }
  for (const file of VERSION_SOURCES)
    files.set(file, replaced(root, file, /VERSION = "[^"]+"/, `VERSION = "${version}"`));
  files.set(
    CHART,
    replaced(root, CHART, /^version: .*$/m, `version: ${version}`).replace(
      /^appVersion: .*$/m,
      `appVersion: "${version}"`,
    ),
  );
  for (const [file, text] of files) if (text === readFileSync(path.join(root, file), "utf8")) files.delete(file);
  return files;
}

function packageManifests(root: string): string[] {
  return readdirSync(path.join(root, "packages"))
    .sort()
    .map((folder) => `packages/${folder}/package.json`);
}

function readManifest(root: string, file: string): Manifest {
  return JSON.parse(readFileSync(path.join(root, file), "utf8")) as Manifest;
}

function replaced(root: string, file: string, what: RegExp, by: string): string {
  const text = readFileSync(path.join(root, file), "utf8");
  if (!what.test(text)) throw new Error(`${file} names no version`);
  return text.replace(what, by);
}
