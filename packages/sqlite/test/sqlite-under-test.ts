import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { SettableClock, type StoreUnderTest } from "@holdfast/conformance";
import { hookedStore, type Logger, type OpenedStore, type Random, type StoreHooks } from "holdfast/adapter";
import { SeededSource, VirtualClock } from "holdfast/testing";
import { Connection } from "../src/database/connection.ts";
import { openDatabase } from "../src/database/driver.ts";
import type { Tx } from "../src/index.ts";
import { openStore, type SqliteStoreOptions } from "../src/open-store.ts";

export const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** A folder for one test's files; `remove` deletes it. */
export function temporaryFolder(): { readonly path: string; file(name: string): string; remove(): void } {
  const folder = mkdtempSync(path.join(os.tmpdir(), "holdfast-sqlite-"));
  return {
    path: folder,
    file: (name) => path.join(folder, name),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

let seeds = 0;

/** Each connection has its own randomness, as separate processes do. */
export function newRandom(): Random {
  seeds += 1;
  return new SeededSource(seeds);
}

export function openFile(file: string, options: Partial<SqliteStoreOptions> = {}): Promise<OpenedStore> {
  return openStore(`file:${file}`, { clock: new VirtualClock(), random: newRandom(), log: silent, ...options });
}

/** A fresh file on a clock that the suites set. `hooksOf`: what stands before the calls of the first store. */
export async function sqliteUnderTest(
  hooksOf: (sql: Connection, clock: SettableClock) => StoreHooks = () => ({}),
): Promise<StoreUnderTest> {
  const folder = temporaryFolder();
  const clock = new SettableClock();
  const open = () => openFile(folder.file("store.db"), { clock, durability: "async" });
  const first = await open();
  const opened = [first];
  const app = await openDatabase(folder.file("store.db"));
  app.exec("create table texts (text text not null) strict");
  return {
    ...first,
    store: hookedStore(first.store, hooksOf(new Connection(app), clock)),
    application: {
      kind: "sqlite",
      write: (tx, text) => void (tx as Tx).run("insert into texts values (?)", text),
      written: async () => (app.prepare("select text from texts").all() as { text: string }[]).map(({ text }) => text),
    },
    hintsReachOthers: true,
    async openSecond() {
      const second = await open();
      opened.push(second);
      return second;
    },
    async setClock(ms) {
      clock.ms = ms;
    },
    async close() {
      app.close();
      for (const { store } of opened) await store.close();
      folder.remove();
    },
  };
}
