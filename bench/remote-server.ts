// The server of `npm run bench -- remote`, in a process of its own: a store, StoreService, and its duties.
import { writeSync } from "node:fs";
import process from "node:process";
import { openStoreServer, startDuties } from "@holdfast/server";
import { silentLogger } from "holdfast";
import { type OpenedStore, type OpenStore, systemPorts } from "holdfast/adapter";

const [url = ""] = process.argv.slice(2);
process.stdin.on("end", () => process.exit()).resume();
const { openStore } = (await import(url.startsWith("file:") ? "@holdfast/sqlite" : "@holdfast/postgres")) as {
  openStore: OpenStore;
};
const opened: OpenedStore = await openStore(url, { ...systemPorts, log: silentLogger });
const server = await openStoreServer(opened);
await startDuties({ opened, clock: systemPorts.clock, log: silentLogger });
process.stdin.on("data", () => {
  globalThis.gc?.();
  writeSync(1, `${process.memoryUsage().rss} ${server.service.sessions}\n`);
});
writeSync(1, `${server.url}\n`);
