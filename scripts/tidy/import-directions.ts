// Imports point downwards only. Type-only imports count too: a type from a higher layer is a dependency all the same.
//
// - Inside packages/holdfast/src a layer imports itself and the layers below it.
// - The core has no runtime dependencies but those of its codecs; an adapter is loaded with a dynamic import, by the URL resolver.
// - An adapter package sees the core through "holdfast/adapter", and its own driver; never another adapter.
// - A package that supports tests sees what every adapter's tests may see, and no adapter.
// - The dashboard's handler has no dependency but the core; its pages know only the messages and the filters of the handler.
// - No file reaches into another package by a relative path.
import path from "node:path";
import { type Finding, type ImportedModule, isCodeFile, isTestFile, parseSource, type Source } from "./source.ts";

/** The layers of the core, from bottom to top. */
export const LAYERS = [
  "model",
  "errors",
  "calendar",
  "ports",
  "codec",
  "replay",
  "define",
  "report",
  "system",
  "calls",
  "engine",
  "client",
] as const;

/** The client makes workers and uses nothing else of the engine: a client without a worker must not load it by accident. */
const CLIENT_MAY_KNOW = "packages/holdfast/src/engine/worker/";

/** Folders and files beside the layers, and the layers that each of them may import. */
const BESIDE_THE_LAYERS: Readonly<Record<string, readonly string[]>> = {
  memory: ["memory", "model", "errors", "ports"],
  testing: [...LAYERS, "memory", "testing", "index.ts", "adapter.ts"],
  "index.ts": [...LAYERS, "memory"],
  "adapter.ts": [...LAYERS, "memory"],
  "codecs.ts": ["codec", "ports", "model"],
};

/** Files that assemble the product, and what they may import in addition to their layer. */
const COMPOSITION_ROOTS: Readonly<Record<string, readonly string[]>> = {
  "packages/holdfast/src/client/connect.ts": ["memory"],
};

const CORE_DEPENDENCIES = ["@standard-schema/spec"];

/** Files that have a dependency of their own. A client that does not import "holdfast/codecs" loads none of them. */
const FILE_DEPENDENCIES: Readonly<Record<string, string>> = {
  "packages/holdfast/src/codec/message-pack.ts": "msgpackr/pack",
};

/** Layers that must stay free of I/O, and the only Node built-ins (with the names) that they may import. */
const PURE_LAYERS = ["model", "calendar", "replay"];
const PURE_BUILTINS: Readonly<Record<string, readonly string[]>> = { "node:crypto": ["createHash", "hash"] };

/** The adapter packages, and the drivers that each may import. */
const ADAPTER_DRIVERS: Readonly<Record<string, readonly string[]>> = {
  sqlite: ["@holdfast/sqlite-node20"],
  "sqlite-node20": ["@photostructure/sqlite"],
  postgres: ["pg"],
  redis: ["ioredis"],
  nats: ["@nats-io/transport-node", "@nats-io/jetstream", "@nats-io/kv"],
};

/** The handler of the dashboard, what it may import, and what its pages may know of it. */
const DASHBOARD = "packages/dashboard/src/";
const DASHBOARD_PAGES = "packages/dashboard/ui/";
const DASHBOARD_BROWSER = `${DASHBOARD_PAGES}browser/`;
const DASHBOARD_IMPORTS = ["holdfast", "holdfast/adapter"];
const KNOWN_TO_PAGES = /^packages\/dashboard\/src\/(?:api\/(?:[a-z]+-messages|path-part)|filter\/filter-text)\.ts$/;

/** The packages that only tests load, and what each may import. */
const TEST_SUPPORT: Readonly<Record<string, readonly string[]>> = {
  conformance: ["holdfast/adapter", "holdfast/testing", "vitest"],
};

/** The client suites: unlike those of the store, they see what users see. */
const CLIENT_SUITES = "packages/conformance/src/client/";

/** Starts servers for tests: for `npm test`, and for tests that need a server of their own. */
const TEST_SERVERS = "scripts/test-servers.mjs";
/** Finds the browser of tests. */
const TEST_CHROMIUM = "scripts/chromium-binary.mjs";

export function checkImportDirections(source: Source): Finding[] {
  const packageName = /^packages\/([^/]+)\//.exec(source.path)?.[1];
  if (packageName === undefined || !isCodeFile(source.path)) return [];
  const findings: Finding[] = [];
  for (const imported of parseSource(source).imports) {
    const message = isRelative(imported.specifier)
      ? wrongRelativeImport(source.path, packageName, imported)
      : wrongPackageImport(source.path, packageName, imported);
    if (message !== undefined) findings.push({ path: source.path, line: imported.line, message });
  }
  const unknown = unknownPlace(source.path);
  if (unknown !== undefined) findings.push({ path: source.path, line: 1, message: unknown });
  return findings;
}

function wrongRelativeImport(file: string, packageName: string, imported: ImportedModule): string | undefined {
  const target = path.posix.join(path.posix.dirname(file), imported.specifier);
  if (target === TEST_CHROMIUM && file.startsWith(DASHBOARD_BROWSER)) return undefined;
  if (target === TEST_SERVERS && file.startsWith(`packages/${packageName}/test/`)) return undefined;
  if (!target.startsWith(`packages/${packageName}/`)) {
    return `"${imported.specifier}" leaves packages/${packageName}; import the other package by its name`;
  }
  if (file.startsWith(DASHBOARD) && target.startsWith(DASHBOARD_PAGES))
    return "the handler must not import its pages: they are built, and served as files";
  if (
    file.startsWith(DASHBOARD_PAGES) &&
    target.startsWith(DASHBOARD) &&
    !isTestFile(file) &&
    !file.startsWith(DASHBOARD_BROWSER) &&
    !KNOWN_TO_PAGES.test(target)
  )
    return "pages run in the browser: of the handler they know the messages, path-part.ts and filter-text.ts";
  const from = placeInCore(file);
  const to = placeInCore(target);
  if (from === undefined || to === undefined) return undefined;
  const allowed = allowedPlaces(from, file);
  if (from === "client" && to === "engine" && !target.startsWith(CLIENT_MAY_KNOW))
    return "client must not import the engine but engine/worker; move what both need to a layer below";
  if (allowed === undefined || allowed.includes(to)) return undefined;
  return `${from} must not import ${to}; it may import ${allowed.join(", ")}. Move the code down, or pass it in from above`;
}

function allowedPlaces(from: string, file: string): readonly string[] | undefined {
  const layer = LAYERS.indexOf(from as (typeof LAYERS)[number]);
  const own = layer === -1 ? BESIDE_THE_LAYERS[from] : LAYERS.slice(0, layer + 1);
  if (own === undefined) return undefined;
  const extra = isTestFile(file) ? ["memory", "testing"] : (COMPOSITION_ROOTS[file] ?? []);
  return [...new Set([...own, ...extra])];
}

function wrongPackageImport(file: string, packageName: string, imported: ImportedModule): string | undefined {
  if (packageName === "holdfast") return wrongImportInCore(file, imported);
  if (Object.hasOwn(ADAPTER_DRIVERS, packageName)) return wrongImportInAdapter(file, packageName, imported);
  if (file.startsWith(DASHBOARD)) return wrongImportInDashboard(file, imported);
  const allowed = TEST_SUPPORT[packageName];
  if (allowed === undefined) return undefined;
  const more = file.startsWith(CLIENT_SUITES) ? ["holdfast", "holdfast/codecs"] : [];
  return wrongImportInTestSupport(packageName, [...allowed, ...more], imported, file);
}

function wrongImportInCore(file: string, imported: ImportedModule): string | undefined {
  const { specifier, dynamic } = imported;
  const adapter = adapterNamedBy(specifier);
  if (adapter !== undefined && !dynamic) {
    return `the core must not import the ${adapter} adapter; load it with a dynamic import in the URL resolver`;
  }
  const place = placeInCore(file);
  if (isTestFile(file) || place === undefined) return undefined;
  if (specifier.startsWith("node:")) return wrongBuiltin(place, imported);
  if (PURE_LAYERS.includes(place) && dynamic) return `${place} does no I/O, so it must not load "${specifier}"`;
  if (dynamic || CORE_DEPENDENCIES.includes(specifier) || FILE_DEPENDENCIES[file] === specifier) return undefined;
  if (specifier === "holdfast" || specifier.startsWith("holdfast/")) {
    return `"${specifier}" is the package itself; import the file by its relative path`;
  }
  return `the core has no dependency on "${specifier}"; do without it, or add it to CORE_DEPENDENCIES with a reason`;
}

function wrongBuiltin(place: string, imported: ImportedModule): string | undefined {
  if (!PURE_LAYERS.includes(place)) return undefined;
  const names = PURE_BUILTINS[imported.specifier];
  if (names === undefined) return `${place} does no I/O, so it must not import "${imported.specifier}"; use a port`;
  const wrong = imported.values.find((name) => !names.includes(name));
  if (wrong === undefined) return undefined;
  return `${place} may import only ${names.join(", ")} from "${imported.specifier}", not ${wrong}; use a port`;
}

function wrongImportInAdapter(file: string, packageName: string, imported: ImportedModule): string | undefined {
  const { specifier } = imported;
  const other = adapterNamedBy(specifier);
  if (other !== undefined && other !== packageName) {
    return `an adapter must not import another adapter ("${specifier}"); share the code through the core`;
  }
  if (isTestFile(file) || specifier.startsWith("node:") || specifier === "holdfast/adapter") return undefined;
  if (specifier === "holdfast/testing") return `"holdfast/testing" is for tests; use "holdfast/adapter" here`;
  if (specifier === "holdfast" || specifier.startsWith("holdfast/")) {
    return `an adapter sees the core through "holdfast/adapter", not "${specifier}"`;
  }
  const drivers = ADAPTER_DRIVERS[packageName] ?? [];
  if (drivers.some((driver) => specifier === driver || specifier.startsWith(`${driver}/`))) return undefined;
  return `"${specifier}" is not a driver of ${packageName} (${drivers.join(", ")}); do without it, or add it to ADAPTER_DRIVERS`;
}

/** What applications install with it: nothing. */
function wrongImportInDashboard(file: string, { specifier }: ImportedModule): string | undefined {
  if (isTestFile(file) || specifier.startsWith("node:") || DASHBOARD_IMPORTS.includes(specifier)) return undefined;
  return `the dashboard may import only ${DASHBOARD_IMPORTS.join(", ")}, not "${specifier}"; it has no dependencies`;
}

function wrongImportInTestSupport(
  packageName: string,
  allowed: readonly string[],
  { specifier }: ImportedModule,
  file: string,
): string | undefined {
  if (allowed.includes(specifier) || (isTestFile(file) && specifier.startsWith("node:"))) return undefined;
  return `${packageName} may import only ${allowed.join(", ")}, not "${specifier}"; every store's tests load it`;
}

function unknownPlace(file: string): string | undefined {
  const place = placeInCore(file);
  if (place === undefined || Object.hasOwn(BESIDE_THE_LAYERS, place) || LAYERS.some((layer) => layer === place))
    return undefined;
  if (isTestFile(file)) return undefined;
  return `${place} is not a layer; move the file into one of ${LAYERS.join(", ")}, or name it in LAYERS`;
}

/** `model` for packages/holdfast/src/model/run.ts, `index.ts` for packages/holdfast/src/index.ts. */
function placeInCore(file: string): string | undefined {
  return /^packages\/holdfast\/src\/([^/]+)/.exec(file)?.[1];
}

function adapterNamedBy(specifier: string): string | undefined {
  const name = /^(?:@holdfast\/|holdfast-)([a-z]+)/.exec(specifier)?.[1];
  return name !== undefined && Object.hasOwn(ADAPTER_DRIVERS, name) ? name : undefined;
}

function isRelative(specifier: string): boolean {
  return specifier.startsWith("./") || specifier.startsWith("../") || specifier === "." || specifier === "..";
}
