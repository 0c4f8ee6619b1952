/**
 * Chooses the adapter that opens a URL: one passed to `connect`, else the package for the scheme. The core depends on
 * no adapter. It loads a package when a URL needs it, first from its own location, then from the application's. The
 * second lookup is for trees in which the core cannot see its neighbors: pnpm without hoisting, Yarn Plug'n'Play,
 * nested installs.
 */
import { createRequire } from "node:module";
import path from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { HoldfastError } from "../errors/holdfast-error.ts";
import { listOf } from "../errors/option-checks.ts";
import { knownScheme, schemeOf } from "../errors/shown-url.ts";
import { nearestName } from "../model/nearest-name.ts";
import type { OpenStore, StoreAdapter } from "../ports/open-store.ts";

/** The package that opens URLs of a scheme. */
const PACKAGES: Readonly<Record<string, string>> = {
  file: "@holdfast/sqlite",
  sqlite: "@holdfast/sqlite",
  postgres: "@holdfast/postgres",
  postgresql: "@holdfast/postgres",
  http: "@holdfast/remote",
  https: "@holdfast/remote",
};

export const KNOWN_URLS = "file:app.db, postgres://user@host/database, https://host:7433, memory: or memory:name";

/** How packages are found and loaded; tests pass their own. */
export interface PackageLoader {
  /** import(): by the package's name, or by the URL of a file. */
  readonly load: (name: string) => Promise<unknown>;
  /** The files from which a package is resolved: the core's own, then the application's. Undefined if unknown. */
  readonly core: string | undefined;
  readonly application: readonly string[];
}

export const areAdapters = listOf(requireAdapter);

export async function openStoreOf(
  url: string,
  adapters: readonly StoreAdapter[] = [],
  loader: PackageLoader = nodeLoader(),
): Promise<OpenStore> {
  areAdapters(adapters, "connect", "adapters");
  const scheme = schemeOf(url);
  const given = adapters.find(({ schemes }) => scheme !== undefined && schemes.includes(scheme));
  if (given) return given.openStore;
  const packageName = scheme !== undefined && Object.hasOwn(PACKAGES, scheme) ? PACKAGES[scheme] : undefined;
  if (scheme === undefined || packageName === undefined) throw unknownScheme(url, scheme, adapters);
  const adapter = await loadPackage(scheme, packageName, loader);
  if (typeof adapter?.openStore === "function") return adapter.openStore as OpenStore;
  throw notLoaded(
    scheme,
    packageName,
    `is installed, but does not match this version of holdfast. ${update(packageName)}`,
  );
}

interface AdapterModule {
  readonly openStore?: unknown;
}

async function loadPackage(scheme: string, packageName: string, loader: PackageLoader): Promise<AdapterModule> {
  const { load, core, application } = loader;
  try {
    return (await load(packageName)) as AdapterModule;
  } catch (cause) {
    // The package was found, so it failed itself, or something it imports failed.
    if (find(packageName, core) !== undefined) throw broken(scheme, packageName, cause);
    for (const place of application) {
      const file = find(packageName, place);
      if (file === undefined) continue;
      return (await load(pathToFileURL(file).href).catch((error: unknown) => {
        throw broken(scheme, packageName, error);
      })) as AdapterModule;
    }
    const advice =
      `is not installed where holdfast or this application can find it. Run: npm install ${packageName}\n` +
      `If it is installed (in a bundle, for example), pass it: connect(url, { adapters: [${factoryOf(packageName)}()] }).`;
    throw notLoaded(scheme, packageName, advice, cause);
  }
}

/** The file that a package name resolves to when imported from `place`. */
function find(packageName: string, place: string | undefined): string | undefined {
  if (place === undefined) return undefined;
  try {
    return createRequire(place).resolve(packageName);
  } catch {
    return undefined;
  }
}

function nodeLoader(): PackageLoader {
  const main = process.argv[1];
  return {
    load: (name) => import(name),
    // Undefined in a bundle that is not a module.
    core: import.meta.url as string | undefined,
    application: [...(main === undefined ? [] : [path.resolve(main)]), path.join(process.cwd(), "application.js")],
  };
}

function requireAdapter(adapter: unknown): void {
  const { name, schemes, openStore } = (adapter ?? {}) as Partial<StoreAdapter>;
  if (typeof name === "string" && Array.isArray(schemes) && typeof openStore === "function") return;
  const hint = typeof adapter === "function" ? "a function: call it, as in adapters: [sqlite()]" : "not an adapter";
  throw new HoldfastError(
    "invalid_option",
    `connect: an entry of adapters is ${hint}. Pass the result of sqlite() from @holdfast/sqlite or postgres() from @holdfast/postgres.`,
    { data: { option: "adapters" } },
  );
}

/** Does not repeat the URL: it may contain a password, even where a scheme should be. */
function unknownScheme(url: string, scheme: string | undefined, adapters: readonly StoreAdapter[]): HoldfastError {
  const shown = knownScheme(url);
  const schemes = ["memory", ...Object.keys(PACKAGES), ...adapters.flatMap((adapter) => adapter.schemes)];
  const nearest = scheme === undefined ? undefined : nearestName(scheme, schemes);
  const what =
    scheme === undefined
      ? "the URL has no scheme"
      : shown === undefined
        ? "Holdfast does not know the scheme of this URL"
        : `"${shown}:" is not a scheme that Holdfast knows`;
  const hint = nearest === undefined ? "" : ` Did you mean "${nearest}:"?`;
  const given = adapters.map((one) => `${one.name} opens ${one.schemes.map((known) => `${known}:`).join(", ")}`);
  const also = given.length === 0 ? "" : ` Adapters passed to connect: ${given.join("; ")}.`;
  return new HoldfastError("unknown_url_scheme", `connect: ${what}.${hint} Use ${KNOWN_URLS}.${also}`, {
    data: { ...(shown === undefined ? {} : { scheme: shown }), ...(nearest === undefined ? {} : { nearest }) },
  });
}

function broken(scheme: string, packageName: string, cause: unknown): HoldfastError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  // The package imports an export that this version of the core does not have.
  const mismatch = cause instanceof SyntaxError && reason.includes("holdfast/adapter");
  const what = mismatch ? "does not match this version of holdfast" : "failed to load";
  const advice = mismatch ? update(packageName) : "Fix that; if a package is missing, run npm install again.";
  return notLoaded(scheme, packageName, `is installed, but ${what}: ${reason}. ${advice}`, cause);
}

function notLoaded(scheme: string, packageName: string, what: string, cause?: unknown): HoldfastError {
  return new HoldfastError(
    "adapter_not_installed",
    `connect: "${scheme}:" needs the package ${packageName}, which ${what}`,
    {
      data: { scheme, packageName },
      cause,
    },
  );
}

function update(packageName: string): string {
  return `Run: npm install ${packageName}@latest holdfast@latest`;
}

function factoryOf(packageName: string): string {
  return packageName.slice(packageName.indexOf("/") + 1);
}
