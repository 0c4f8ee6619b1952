// The server of `npm run bench -- remote`, in a process of its own.
import { writeSync } from "node:fs";
import process from "node:process";
import { openServer } from "@holdfast/server";
import { silentLogger } from "holdfast";

const [url = ""] = process.argv.slice(2);
process.stdin.on("end", () => process.exit()).resume();
const server = await openServer({ url, port: 0, logger: silentLogger });
process.stdin.on("data", () => {
  globalThis.gc?.();
  writeSync(1, `${process.memoryUsage().rss} ${server.sessions}\n`);
});
writeSync(1, `${server.url}\n`);
