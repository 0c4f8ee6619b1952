import { jsonCodec } from "../codec/json-codec.ts";
import { requireName } from "../define/definitions.ts";
import type { PortsBundle } from "../engine/ports-bundle.ts";
import { systemClock } from "../engine/system-clock.ts";
import { systemRandom } from "../engine/system-random.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import { MemoryNotifier } from "../memory/memory-notifier.ts";
import { MemoryStore } from "../memory/memory-store.ts";
import type { Notifier } from "../ports/notifier.ts";
import type { Store } from "../ports/store.ts";
import { Client } from "./client.ts";
import type { ConnectOptions } from "./client-options.ts";
import { consoleLogger } from "./console-logger.ts";

/** Stores in memory that have a name are shared by all clients of this process. */
const sharedMemory = new Map<string, { readonly store: Store; readonly notifier: Notifier }>();

/** Opens a store by its URL: `memory:` (private to this client), `memory:name` (shared within the process). */
export async function connect(url: string, options: ConnectOptions = {}): Promise<Client> {
  const namespace = options.namespace ?? "default";
  requireName(namespace, "namespace");
  const { store, notifier } = openStore(url);
  const ports: PortsBundle = {
    clock: systemClock,
    random: systemRandom,
    codec: options.codec ?? jsonCodec,
    log: options.logger ?? consoleLogger,
    store,
    notifier,
  };
  return new Client(ports, namespace, () => store.close());
}

function openStore(url: string): { readonly store: Store; readonly notifier: Notifier } {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase();
  if (scheme !== "memory") {
    throw new HoldfastError(
      "unknown_url_scheme",
      `connect: ${scheme ? `"${scheme}:" is not a store that Holdfast knows` : "the address has no scheme"}. Use memory: or memory:name.`,
      {
        data: { scheme },
      },
    );
  }
  const name = url.slice("memory:".length);
  const shared = sharedMemory.get(name);
  if (name !== "" && shared) return shared;
  const notifier = new MemoryNotifier(systemClock);
  const opened = { store: new MemoryStore({ clock: systemClock, notifier }), notifier };
  if (name !== "") sharedMemory.set(name, opened);
  return opened;
}
