// A server in its own process, on a store that others share; the test kills the process at any moment.
import { writeSync } from "node:fs";
import process from "node:process";
import { postgres } from "@holdfast/postgres";
import { openServer } from "@holdfast/server";
import { sqlite } from "@holdfast/sqlite";
import { silentLogger } from "holdfast";

const [url = "", schema = ""] = process.argv.slice(2);
// Whoever has started this process is gone.
process.stdin.on("end", () => process.exit()).resume();
const server = await openServer({
  url,
  ...(schema ? { schema } : {}),
  port: 0,
  adapters: [postgres(), sqlite()],
  logger: silentLogger,
});
// The other way to go: as an operator ends it.
process.on("SIGTERM", () => void server.close().then(() => process.exit()));
writeSync(1, `${server.port}\n`);
