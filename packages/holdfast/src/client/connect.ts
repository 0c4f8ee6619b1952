import { answeringStore } from "../calls/answering-store.ts";
import type { PortsBundle } from "../calls/ports-bundle.ts";
import { jsonCodec } from "../codec/json-codec.ts";
import { limitPayloads } from "../codec/limited-codec.ts";
import { DEFAULT_NAMESPACE } from "../define/definitions.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import {
  checkOptions,
  isFunction,
  type OptionChecks,
  objectWith,
  optionsOf,
  requireName,
  requireOwnName,
  wholeNumber,
  withDefaults,
} from "../errors/option-checks.ts";
import { schemeOf } from "../errors/shown-url.ts";
import { MemoryAccessStore } from "../memory/access.ts";
import { MemoryNotifier } from "../memory/notifier.ts";
import { MemoryStore } from "../memory/store.ts";
import { DEFAULT_LIMITS, type Limits } from "../model/limits.ts";
import type { Clock } from "../ports/clock.ts";
import type { Codec } from "../ports/codec.ts";
import type { Logger } from "../ports/logger.ts";
import type { OpenedStore, OpenStoreOptions, StoreAdapter } from "../ports/open-store.ts";
import type { Random } from "../ports/random.ts";
import type { Store } from "../ports/store.ts";
import { STORE_OPTIONS } from "../ports/store-options.ts";
import { guardLogger } from "../report/guarded-logger.ts";
import { guardTelemetry } from "../report/guarded-telemetry.ts";
import { isLogger, isTelemetry } from "../report/observer-options.ts";
import { systemClock } from "../system/clock.ts";
import { systemEnvironment } from "../system/environment.ts";
import { systemRandom } from "../system/random.ts";
import { systemTaskProcesses } from "../system/task-processes.ts";
import { areAdapters, KNOWN_URLS, openStoreOf } from "./adapters.ts";
import { Client } from "./client.ts";
import type { ConnectOptions } from "./client-options.ts";
import { consoleLogger } from "./console-logger.ts";
import { RESULT_LOOK_MS } from "./result-waiter.ts";

const isLimit = wholeNumber(1);

/** Used wherever a client is made, including the test engine. */
export const LIMIT_OPTIONS: OptionChecks<Limits> = {
  payloadWarnBytes: isLimit,
  payloadMaxBytes: isLimit,
  opsMax: isLimit,
  inboxMax: isLimit,
};

const CONNECT_OPTIONS: OptionChecks<ConnectOptions> = {
  ...STORE_OPTIONS,
  namespace: (value) => requireOwnName(value, "namespace"),
  codec: objectWith("encode", "decode"),
  logger: isLogger,
  telemetry: isTelemetry,
  redact: isFunction,
  limits: optionsOf(LIMIT_OPTIONS),
  adapters: areAdapters,
};

/** Named memory stores are shared by all clients of this process. */
const sharedMemory = new Map<string, OpenedStore>();

/**
 * Opens a store by its URL: `file:app.db` (SQLite), `postgres://…`, `https://…` (a server), `memory:` (private to
 * this client), `memory:name` (shared within the process).
 */
export async function connect(url: string, options: ConnectOptions = {}): Promise<Client> {
  const { ports } = await openPorts(url, options);
  return new Client(ports, options.namespace ?? DEFAULT_NAMESPACE, () => ports.store.close(), RESULT_LOOK_MS, true);
}

/** One store, and a client of any namespace on it: for a program that serves many, such as the server. */
export interface OpenedClients {
  readonly opened: OpenedStore;
  /** The store, with limits on how long a call may take. */
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** A new client; closing it leaves the store open. `codec` takes the place of the one that the store was opened with. */
  client(namespace: string, codec?: Codec): Client;
  /** Closes the store. Clients are closed before. */
  close(): Promise<void>;
}

export async function openClients(
  url: string,
  options: Omit<ConnectOptions, "namespace"> = {},
): Promise<OpenedClients> {
  const { ports, opened, codecOf } = await openPorts(url, options);
  const { store, clock, random, log } = ports;
  return {
    opened,
    store,
    clock,
    random,
    log,
    client(namespace, codec): Client {
      requireName(namespace, "namespace");
      const own = codec ? { ...ports, codec: codecOf(codec), plainCodec: false } : ports;
      return new Client(own, namespace, async () => {}, RESULT_LOOK_MS);
    },
    close: () => store.close(),
  };
}

interface OpenedPorts {
  readonly ports: PortsBundle;
  readonly opened: OpenedStore;
  readonly codecOf: (codec: Codec) => Codec;
}

async function openPorts(url: string, options: ConnectOptions): Promise<OpenedPorts> {
  if (typeof url !== "string")
    throw new HoldfastError(
      "invalid_option",
      `connect: the URL is ${shownType(url)}, not a string. Use ${KNOWN_URLS}.`,
    );
  checkOptions(options, CONNECT_OPTIONS, "connect");
  const log = guardLogger(options.logger ?? consoleLogger);
  const telemetry = guardTelemetry(options.telemetry, log);
  const { migrate, durability, schema, token, tls } = options;
  const storeOptions: OpenStoreOptions = {
    clock: systemClock,
    random: systemRandom,
    log,
    ...(migrate === undefined ? {} : { migrate }),
    ...(durability === undefined ? {} : { durability }),
    ...(schema === undefined ? {} : { schema }),
    ...(token === undefined ? {} : { token }),
    ...(tls === undefined ? {} : { tls }),
  };
  const opened = await openByUrl(url, storeOptions, options.adapters);
  const { notifier, access, place, commitsInFlightMax, callLimitMs } = opened;
  const store = answeringStore(opened.store, { clock: systemClock, callLimitMs, telemetry });
  const limits = withDefaults(DEFAULT_LIMITS, options.limits);
  const { redact } = options;
  const observers = { ...(telemetry ? { telemetry } : {}), ...(redact ? { redact } : {}) };
  const codecOf = (codec: Codec): Codec => limitPayloads(codec, limits, log);
  const ports: PortsBundle = {
    clock: systemClock,
    random: systemRandom,
    codec: codecOf(options.codec ?? jsonCodec),
    log,
    store,
    notifier,
    limits,
    environment: systemEnvironment,
    watches: true,
    processes: systemTaskProcesses,
    plainCodec: options.codec === undefined || options.codec === jsonCodec,
    ...(access === undefined ? {} : { access }),
    ...(place === undefined ? {} : { place }),
    ...(commitsInFlightMax === undefined ? {} : { commitsInFlightMax }),
    connectTo: (other) => connect(other, options),
    ...observers,
  };
  return { ports, opened, codecOf };
}

/** The type, not the value: the value may be a URL object with a password in it. */
function shownType(url: unknown): string {
  return url === null ? "null" : typeof url === "object" ? "an object" : typeof url;
}

async function openByUrl(
  url: string,
  options: OpenStoreOptions,
  adapters: readonly StoreAdapter[] | undefined,
): Promise<OpenedStore> {
  if (schemeOf(url) === "memory") return openMemory(url.slice("memory:".length));
  const openStore = await openStoreOf(url, adapters);
  return openStore(url, options);
}

function openMemory(name: string): OpenedStore {
  if (/[?#]/.test(name))
    throw new HoldfastError(
      "invalid_option",
      `connect: a memory store takes no parameters ("?" or "#"). Use ${KNOWN_URLS}.`,
      {
        data: { option: "url" },
      },
    );
  const shared = sharedMemory.get(name);
  if (name !== "" && shared) return shared;
  const notifier = new MemoryNotifier(systemClock);
  const place = name === "" ? "memory" : `memory, shared as "${name}"`;
  const access = new MemoryAccessStore(systemClock);
  const opened = { store: new MemoryStore({ clock: systemClock, notifier }), notifier, access, place };
  if (name !== "") sharedMemory.set(name, opened);
  return opened;
}
