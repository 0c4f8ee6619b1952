// A server in its own process, on a store that others share; the test kills the process at any moment.
import { writeSync } from "node:fs";
import process from "node:process";
import { openStore } from "@holdfast/postgres";
import { openStoreServer, startDuties } from "@holdfast/server";
import { silentLogger } from "holdfast";
import { systemPorts } from "holdfast/adapter";

const [url = "", schema = ""] = process.argv.slice(2);
// Whoever has started this process is gone.
process.stdin.on("end", () => process.exit()).resume();
const opened = await openStore(url, { ...systemPorts, log: silentLogger, schema });
const server = await openStoreServer(opened);
await startDuties({ opened, clock: systemPorts.clock, log: silentLogger });
writeSync(1, `${server.port}\n`);
