// What is published: consistent manifests in every package, and entry points whose types have names.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { entryTypes, readPublishedPackages, root } from "./packages/published-packages.ts";
import { findUnnameableTypes } from "./packages/type-names.ts";
import { parseSource } from "./tidy/source.ts";

const BUILD_MS = 60_000;

const packages = readPublishedPackages();
const named = packages.map((published) => [published.manifest.name, published] as const);
const license = readFileSync(path.join(root, "LICENSE"), "utf8");
const engines = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")).engines;

test("the packages that are published are known", () => {
  expect(packages.map(({ manifest }) => manifest.name).sort()).toEqual([
    "@holdfast/cli",
    "@holdfast/dashboard",
    "@holdfast/postgres",
    "@holdfast/protocol",
    "@holdfast/remote",
    "@holdfast/server",
    "@holdfast/sqlite",
    "@holdfast/sqlite-node20",
    "@holdfast/telemetry",
    "holdfast",
  ]);
});

describe.each(named)("%s", (name, published) => {
  const { folder, manifest } = published;

  test("says what it is, where it comes from and under which license", () => {
    expect(manifest).toMatchObject({
      description: expect.any(String),
      license: "Apache-2.0",
      type: "module",
      repository: { type: "git", directory: `packages/${folder}` },
    });
    expect(manifest.keywords?.length).toBeGreaterThan(0);
    expect(readFileSync(path.join(published.path, "LICENSE"), "utf8")).toBe(license);
    expect(readFileSync(path.join(published.path, "README.md"), "utf8")).toMatch(`# ${name}\n`);
    for (const { manifest: other } of packages) {
      expect(manifest.version).toBe(other.version);
      expect(manifest.homepage).toBe(other.homepage);
      expect(manifest.bugs).toBe(other.bugs);
      expect(manifest.repository?.url).toBe(other.repository?.url);
    }
  });

  test("runs on the versions of Node that the repository supports", () => {
    // Selected by its engines field: installed only where Node has no node:sqlite.
    const without = { node: `${engines.node} <22.13 || >=23 <23.4` };
    expect(manifest.engines).toEqual(name === "@holdfast/sqlite-node20" ? without : engines);
  });

  test("shares the application's copy of the core", () => {
    expect(manifest.dependencies?.holdfast).toBeUndefined();
    const usesCore = name !== "holdfast" && name !== "@holdfast/sqlite-node20";
    expect(manifest.peerDependencies?.holdfast).toBe(usesCore ? `^${manifest.version}` : undefined);
  });

  test("has no program that only a build makes: npm could not link it in a fresh clone", () => {
    const made = Object.values(manifest.bin ?? {}).filter((file) => /^(\.\/)?dist\//.test(file));
    expect(made).toEqual([]);
  });

  test("lists what each entry point exports", () => {
    const sources = Object.values(manifest.exports).flatMap((target) =>
      typeof target === "string" ? [] : (target["holdfast-source"] ?? target.default ?? []),
    );
    for (const file of sources) {
      const { program } = parseSource({ path: file, text: readFileSync(path.join(published.path, file), "utf8") });
      const kinds = (program.body as readonly { readonly type: string }[]).map(({ type }) => type);
      expect([...new Set(kinds)]).toEqual(["ExportNamedDeclaration"]);
    }
  });
});

describe("the declarations", () => {
  const compile = (...args: string[]): void => {
    const tsc = path.join(root, "node_modules", "typescript", "bin", "tsc");
    const { status, stdout } = spawnSync(process.execPath, [tsc, ...args], { cwd: root, encoding: "utf8" });
    expect(stdout).toBe("");
    expect(status).toBe(0);
  };

  beforeAll(() => compile("-b"), BUILD_MS);

  test("stand on their own, also where the compiler looks into those of packages", { timeout: BUILD_MS }, () => {
    const entries = packages.flatMap(({ path: folder, manifest }) =>
      entryTypes(manifest).map((file) => path.join(folder, file)),
    );
    const options = ["--ignoreConfig", "--noEmit", "--strict", "--module", "nodenext", "--target", "es2022"];
    compile(...options, "--types", "node", "--skipLibCheck", "false", ...entries);
  });

  test.each(named)("name every type that users of %s can hold", (_name, { path: folder, manifest }) => {
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".d.ts") && !file.startsWith("node_modules"))
      .map((file) => ({ path: file.split(path.sep).join("/"), text: readFileSync(path.join(folder, file), "utf8") }));
    const entries = entryTypes(manifest).map((file) => path.posix.normalize(file));
    expect(findUnnameableTypes({ files, entries })).toEqual([]);
  });
});
