import { jsonCodec } from "../codec/json-codec.ts";
import { limitPayloads } from "../codec/limited-codec.ts";
import { requireName } from "../define/definitions.ts";
import type { PortsBundle } from "../engine/ports-bundle.ts";
import { systemClock } from "../engine/system-clock.ts";
import { systemRandom } from "../engine/system-random.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import { MemoryNotifier } from "../memory/memory-notifier.ts";
import { MemoryStore } from "../memory/memory-store.ts";
import { DEFAULT_LIMITS, type Limits } from "../model/limits.ts";
import type { OpenedStore, OpenStoreOptions, StoreAdapter } from "../ports/open-store.ts";
import { openStoreOf } from "./adapters.ts";
import { Client } from "./client.ts";
import type { ConnectOptions } from "./client-options.ts";
import { consoleLogger } from "./console-logger.ts";

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
  const storeOptions: OpenStoreOptions = {
    clock: systemClock,
    random: systemRandom,
    log,
    ...(migrate === undefined ? {} : { migrate }),
    ...(durability === undefined ? {} : { durability }),
    ...(schema === undefined ? {} : { schema }),
  };
  const { store, notifier, commitsInFlightMax } = await openByUrl(url, storeOptions, options.adapters);
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

async function openByUrl(
  url: string,
  options: OpenStoreOptions,
  adapters: readonly StoreAdapter[] | undefined,
): Promise<OpenedStore> {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase();
  if (scheme === "memory") return openMemory(url.slice("memory:".length));
  const openStore = await openStoreOf(scheme, adapters);
  return openStore(url, options);
}

function openMemory(name: string): OpenedStore {
  const shared = sharedMemory.get(name);
  if (name !== "" && shared) return shared;
  const notifier = new MemoryNotifier(systemClock);
  const opened = { store: new MemoryStore({ clock: systemClock, notifier }), notifier };
  if (name !== "") sharedMemory.set(name, opened);
  return opened;
}
