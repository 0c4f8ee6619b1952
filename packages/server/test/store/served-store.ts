import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import type { StoreAddress } from "@holdfast/conformance";
import { openStore as openSqlite } from "@holdfast/sqlite";
import { type Clock, hookedStore, type OpenedStore, systemPorts } from "holdfast/adapter";
import { MemoryAccessStore, MemoryNotifier, MemoryStore } from "holdfast/testing";
import { openServer, type Server, type ServerOptions } from "../../src/index.ts";
import { silent } from "./remote-under-test.ts";

export function memoryStore(clock: Clock = systemPorts.clock): OpenedStore {
  const notifier = new MemoryNotifier(clock);
  const access = new MemoryAccessStore(clock);
  return { store: new MemoryStore({ clock, notifier }), notifier, access, place: "memory" };
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
  readonly server: Server;
}

/** A server with this store. */
export async function serve(opened: OpenedStore, options: Partial<ServerOptions> = {}): Promise<ServedStore> {
  const adapter = { name: "given", schemes: ["given"], openStore: async () => opened };
  const server = await openServer({ port: 0, logger: silent, adapters: [adapter], ...options, url: "given:" });
  return { opened, server, url: server.url, close: () => server.close() };
}
