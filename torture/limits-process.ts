// A worker in its own process, whose runs are in a queue with limits. Each effect is a line in a file, written before the step
// returns; the test kills the process at any moment.
import { appendFileSync, writeSync } from "node:fs";
import process from "node:process";
import { connect, silentLogger } from "holdfast";
import { stayWorkflow } from "./limits-workflow.ts";

const [url = "", schema = "", file = ""] = process.argv.slice(2);
// Whoever has started this process is gone.
process.stdin.on("end", () => process.exit()).resume();
const note = (line: string): void => {
  appendFileSync(file, `${Date.now()} ${line}\n`);
  writeSync(1, "effect\n");
};
const hf = await connect(url, { logger: silentLogger, ...(schema === "" ? {} : { schema }) });
await hf.worker({ workflows: [stayWorkflow(note)], lease: "1s" }).start();
writeSync(1, "ready\n");
