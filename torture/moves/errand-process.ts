// A worker in its own process, on one of the two stores. Each effect is a line in a file, written before the step returns.
import { appendFileSync, writeSync } from "node:fs";
import process from "node:process";
import { openTortureClient } from "../torture-client.ts";
import { errands } from "./errand.ts";

const [url = "", schema = "", file = ""] = process.argv.slice(2);
// Whoever has started this process is gone.
process.stdin.on("end", () => process.exit()).resume();
const { errand, fetch } = errands((line) => appendFileSync(file, `${line}\n`));
const { client } = await openTortureClient(schema === "" ? { url } : { url, schema });
await client.worker({ workflows: [errand], tasks: [fetch], lease: "5s" }).start();
writeSync(1, "ready\n");
