/** A worker of `torture`, which is killed at any moment: `node torture-child.js <url> <namespace> <name> <ledger>`. */
import process from "node:process";
import { processIo } from "../../io/process-io.ts";
import { tortureWorkflow } from "./torture-run.ts";

const [url = "", namespace = "", name = "", ledger = ""] = process.argv.slice(2);

for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => {});
process.on("disconnect", () => process.exit(0));
const core = await processIo("").core();
const hf = await core.connect(url, { namespace, logger: core.silentLogger });
const worker = hf.worker({ workflows: [tortureWorkflow(core, ledger)], name, lease: "3s" });
await worker.start();
process.send?.("working");
