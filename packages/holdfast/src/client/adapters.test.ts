import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { HoldfastError } from "../errors/holdfast-error.ts";
import type { OpenedStore, OpenStore, StoreAdapter } from "../ports/open-store.ts";
import { openStoreOf, type PackageLoader } from "./adapters.ts";

const GOOD = `export const openStore = async () => "opened by the package";`;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "holdfast-adapters-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** The core and the application in folders of their own, which see different packages. */
function loader(): PackageLoader {
  const core = path.join(folder, "core", "connect.js");
  const load = async (name: string): Promise<unknown> =>
    import(name.startsWith("file:") ? name : pathToFileURL(createRequire(core).resolve(name)).href);
  return {
    load,
    core,
    application: [path.join(folder, "tool", "bin.js"), path.join(folder, "application", "main.js")],
  };
}

function install(place: "core" | "application", name: string, text: string): void {
  const target = path.join(folder, place, "node_modules", name);
  mkdirSync(target, { recursive: true });
  writeFileSync(
    path.join(target, "package.json"),
    `{ "name": "${name}", "type": "module", "exports": { ".": "./index.js", "./adapter": "./index.js" } }`,
  );
  writeFileSync(path.join(target, "index.js"), text);
}

async function refusal(scheme: string): Promise<HoldfastError> {
  return openStoreOf(`${scheme}:x`, [], loader()).then(
    () => expect.unreachable(),
    (error: HoldfastError) => error,
  );
}

async function openedBy(openStore: OpenStore): Promise<OpenedStore> {
  return openStore("file:app.db", {} as Parameters<OpenStore>[1]);
}

describe("an adapter that was handed over", () => {
  const openStore = (async () => "opened by the adapter") as unknown as OpenStore;
  const adapter: StoreAdapter = { name: "my-store", schemes: ["file", "mine"], openStore };

  test("opens the URLs of its schemes, and no package is looked for", async () => {
    const load = () => expect.unreachable();
    expect(await openStoreOf("file:x", [adapter], { ...loader(), load })).toBe(openStore);
    expect(await openStoreOf("mine:x", [adapter], { ...loader(), load })).toBe(openStore);
  });

  test("leaves other schemes to their packages", async () => {
    install("core", "@holdfast/postgres", GOOD);
    expect(await openedBy(await openStoreOf("postgres:x", [adapter], loader()))).toBe("opened by the package");
  });

  test("is named where no store knows the scheme", async () => {
    await expect(openStoreOf("mysql:x", [adapter], loader())).rejects.toMatchObject({
      code: "unknown_url_scheme",
      message: expect.stringContaining("my-store opens file:, mine:"),
    });
  });

  test.each([
    [() => adapter, "a function: call it, as in adapters: [sqlite()]"],
    ["@holdfast/sqlite", "not an adapter"],
    [undefined, "not an adapter"],
    [{ name: "half", schemes: ["file"] }, "not an adapter"],
  ])("must be one: %s", async (given, what) => {
    await expect(openStoreOf("file:x", [given as unknown as StoreAdapter], loader())).rejects.toMatchObject({
      code: "invalid_option",
      message: expect.stringContaining(what),
    });
  });
});

describe("a package", () => {
  test("is loaded from where the core finds it", async () => {
    install("core", "@holdfast/sqlite", GOOD);
    install("application", "@holdfast/sqlite", `throw new Error("not this one");`);
    expect(await openedBy(await openStoreOf("file:x", [], loader()))).toBe("opened by the package");
  });

  test("that only the application can see is loaded from there", async () => {
    install("application", "@holdfast/sqlite", GOOD);
    expect(await openedBy(await openStoreOf("sqlite:x", [], loader()))).toBe("opened by the package");
  });

  test("that nobody can see is named, with the two ways out", async () => {
    const error = await refusal("postgresql");
    expect(error).toMatchObject({
      code: "adapter_not_installed",
      data: { scheme: "postgresql", packageName: "@holdfast/postgres" },
      cause: { code: "MODULE_NOT_FOUND" },
    });
    expect(error.message).toContain(
      'connect: "postgresql:" needs the package @holdfast/postgres, which is not installed',
    );
    expect(error.message).toContain("Run: npm install @holdfast/postgres");
    expect(error.message).toContain("connect(url, { adapters: [postgres()] })");
  });

  test.each(["core", "application"] as const)("of the %s whose own import fails says which", async (place) => {
    install(place, "@holdfast/postgres", `import "pg"; ${GOOD}`);
    const error = await refusal("postgres");
    expect(error).toMatchObject({ code: "adapter_not_installed", cause: { code: "ERR_MODULE_NOT_FOUND" } });
    expect(error.message).toContain(
      "@holdfast/postgres, which is installed, but failed to load: Cannot find package 'pg'",
    );
    expect(error.message).not.toContain("npm install @holdfast/postgres");
  });

  test("that needs another version of the core says so", async () => {
    install("core", "holdfast", "export const present = 1;");
    install("core", "@holdfast/sqlite", `import { later } from "holdfast/adapter"; ${GOOD}`);
    const { message } = await refusal("file");
    expect(message).toContain("which is installed, but does not match this version of holdfast: The requested module");
    expect(message).toContain("Run: npm install @holdfast/sqlite@latest holdfast@latest");
  });

  test("without a store says so", async () => {
    install("core", "@holdfast/sqlite", "export const open = 1;");
    const { message } = await refusal("file");
    expect(message).toContain("which is installed, but does not match this version of holdfast");
    expect(message).toContain("Run: npm install @holdfast/sqlite@latest holdfast@latest");
  });
});
