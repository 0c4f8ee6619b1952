import { jsonCodec } from "../codec/json-codec.ts";
import { limitPayloads } from "../codec/limited-codec.ts";
import { requireName } from "../define/definitions.ts";
import type { PortsBundle } from "../engine/ports-bundle.ts";
import { systemClock } from "../engine/system-clock.ts";
import { systemEnvironment } from "../engine/system-environment.ts";
import { systemRandom } from "../engine/system-random.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import { MemoryNotifier } from "../memory/memory-notifier.ts";
import { MemoryStore } from "../memory/memory-store.ts";
import { DEFAULT_LIMITS, type Limits } from "../model/limits.ts";
import type { OpenedStore, OpenStore, OpenStoreOptions } from "../ports/open-store.ts";
import { Client } from "./client.ts";
import type { ConnectOptions } from "./client-options.ts";
import { consoleLogger } from "./console-logger.ts";

/** Which package opens the URLs of a scheme. Packages are loaded when they are asked for: the core depends on none of them. */
const ADAPTERS: Readonly<Record<string, string>> = {
  file: "@holdfast/sqlite",
  sqlite: "@holdfast/sqlite",
  postgres: "@holdfast/postgres",
  postgresql: "@holdfast/postgres",
};

const KNOWN_URLS = "file:app.db, postgres://user@host/database, memory: or memory:name";

/** Stores in memory that have a name are shared by all clients of this process. */
const sharedMemory = new Map<string, OpenedStore>();

/**
 * Opens a store by its URL: `file:app.db` (SQLite), `postgres://…`, `memory:` (private to this client), `memory:name`
 * (shared within the process).
 */
export async function connect(url: string, options: ConnectOptions = {}): Promise<Client> {
  const namespace = options.namespace ?? "default";
  requireName(namespace, "namespace");
  const log = options.logger ?? consoleLogger;
  const { migrate, durability, schema } = options;
  const { store, notifier, commitsInFlightMax } = await openByUrl(url, {
    clock: systemClock,
    random: systemRandom,
    log,
    ...(migrate === undefined ? {} : { migrate }),
    ...(durability === undefined ? {} : { durability }),
    ...(schema === undefined ? {} : { schema }),
  });
  const limits = resolveLimits(options.limits);
  const { telemetry, redact } = options;
  const observers = { ...(telemetry ? { telemetry } : {}), ...(redact ? { redact } : {}) };
  const codec = limitPayloads(options.codec ?? jsonCodec, limits, log);
  const ports: PortsBundle = {
    clock: systemClock,
    random: systemRandom,
    codec,
    log,
    store,
    notifier,
    limits,
    environment: systemEnvironment,
    ...(commitsInFlightMax === undefined ? {} : { commitsInFlightMax }),
    ...observers,
  };
  return new Client(ports, namespace, () => store.close());
}

function resolveLimits(given: Partial<Limits> | undefined): Limits {
  for (const [name, value] of Object.entries(given ?? {})) {
    if (Number.isInteger(value) && value >= 1 && Object.hasOwn(DEFAULT_LIMITS, name)) continue;
    const known = Object.keys(DEFAULT_LIMITS).join(", ");
    throw new HoldfastError(
      "invalid_option",
      `connect: limits.${name} is ${value}; limits are whole numbers from 1 up, of: ${known}.`,
    );
  }
  return { ...DEFAULT_LIMITS, ...given };
}

async function openByUrl(url: string, options: OpenStoreOptions): Promise<OpenedStore> {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase();
  if (scheme === "memory") return openMemory(url.slice("memory:".length));
  const packageName = scheme !== undefined && Object.hasOwn(ADAPTERS, scheme) ? ADAPTERS[scheme] : undefined;
  if (packageName === undefined) {
    // The URL itself is not repeated: it may hold a password.
    const what = scheme ? `"${scheme}:" is not a store that Holdfast knows` : "the address has no scheme";
    throw new HoldfastError("unknown_url_scheme", `connect: ${what}. Use ${KNOWN_URLS}.`, { data: { scheme } });
  }
  const openStore = await loadAdapter(packageName, scheme as string);
  return openStore(url, options);
}

async function loadAdapter(packageName: string, scheme: string): Promise<OpenStore> {
  let adapter: { readonly openStore?: OpenStore };
  try {
    adapter = (await import(packageName)) as typeof adapter;
  } catch (cause) {
    throw new HoldfastError(
      "adapter_not_installed",
      `connect: "${scheme}:" needs the package ${packageName}, which cannot be loaded here. Run: npm install ${packageName}`,
      { data: { scheme, packageName }, cause },
    );
  }
  if (typeof adapter.openStore === "function") return adapter.openStore;
  throw new HoldfastError(
    "adapter_not_installed",
    `connect: the installed ${packageName} does not fit this version of holdfast. Run: npm install ${packageName}@latest holdfast@latest`,
    { data: { scheme, packageName } },
  );
}

function openMemory(name: string): OpenedStore {
  const shared = sharedMemory.get(name);
  if (name !== "" && shared) return shared;
  const notifier = new MemoryNotifier(systemClock);
  const opened = { store: new MemoryStore({ clock: systemClock, notifier }), notifier };
  if (name !== "") sharedMemory.set(name, opened);
  return opened;
}
