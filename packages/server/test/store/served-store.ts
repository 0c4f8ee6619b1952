import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import type { StoreAddress } from "@holdfast/conformance";
import { openStore as openSqlite } from "@holdfast/sqlite";
import { type Clock, hookedStore, type OpenedStore, systemPorts } from "holdfast/adapter";
import { MemoryNotifier, MemoryStore } from "holdfast/testing";
import { openStoreServer, type StoreServer, type StoreServerOptions, startDuties } from "../../src/index.ts";
import { silent } from "./remote-under-test.ts";

const { clock } = systemPorts;

export function memoryStore(clock: Clock = systemPorts.clock): OpenedStore {
  const notifier = new MemoryNotifier(clock);
  return { store: new MemoryStore({ clock, notifier }), notifier, place: "memory" };
}

/** A file for one test. `close` of the store removes it. */
export async function sqliteStore(): Promise<OpenedStore> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "holdfast-server-"));
  const opened = await openSqlite(`file:${path.join(folder, "store.db")}`, {
    ...systemPorts,
    log: silent,
    durability: "async",
  });
  const close = async (): Promise<void> => {
    await opened.store.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { ...opened, store: { ...hookedStore(opened.store, {}), close } };
}

export interface ServedStore extends StoreAddress {
  readonly opened: OpenedStore;
  readonly server: StoreServer;
}

/** A store with a server that does its duties. */
export async function serve(opened: OpenedStore, options: StoreServerOptions = {}): Promise<ServedStore> {
  const server = await openStoreServer(opened, options);
  const duties = await startDuties({ opened, clock, log: silent, leaseMs: 30_000 });
  return {
    opened,
    server,
    url: server.url,
    async close() {
      await server.close();
      await duties.stop();
      await opened.store.close();
    },
  };
}
