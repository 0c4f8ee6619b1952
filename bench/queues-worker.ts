// A worker in a process of its own, for bench/queues.ts. It tells its parent when each run began and of which key it is.
import process from "node:process";
import { connect, silentLogger } from "holdfast";
import { benchWorkflows } from "./queues-workflows.ts";

const [url = ""] = process.argv.slice(2);
process.on("disconnect", () => process.exit());
const workflows = benchWorkflows((key) => void process.send?.([key, Date.now()]));
const hf = await connect(url, { logger: silentLogger });
await hf.worker({ workflows, concurrency: 50 }).start();
process.send?.("ready");
