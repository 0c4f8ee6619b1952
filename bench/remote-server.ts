// The server of `npm run bench -- remote`, in a process of its own.
import { writeSync } from "node:fs";
import process from "node:process";
import { openServer } from "@holdfast/server";
import { silentLogger } from "holdfast";

const [url = ""] = process.argv.slice(2);
process.stdin.on("end", () => process.exit()).resume();
const server = await openServer({ url, port: 0, logger: silentLogger });
process.stdin.on("data", (asked: Buffer) => {
  // Memory only means something after a collection, and a collection is not to be measured with the rest.
  if (asked.includes("memory")) globalThis.gc?.();
  const { user, system } = process.cpuUsage();
  writeSync(1, `${JSON.stringify({ rss: process.memoryUsage().rss, cpuMicros: user + system })}\n`);
});
writeSync(1, `${server.url}\n`);
