// The process of one worker. It is an ordinary worker and does not know that it will be killed.
import process from "node:process";
import { connect } from "holdfast";
import { workflowsFor } from "./store.ts";

// main.ts has ended (Ctrl-C, for example): there is nothing left to do.
process.on("disconnect", () => process.exit());

const url = process.argv[2] as string;
// Workers log when they reclaim the runs of dead ones; here that would be all there is to read.
const logger = { debug() {}, info() {}, warn() {}, error: console.error };
const hf = await connect(url, { logger });
// A short lease, so that the runs of a dead worker are reclaimed soon. The default is 30 seconds.
await hf.worker({ workflows: Object.values(workflowsFor(url)), lease: "1s", concurrency: 8 }).start();
process.send?.("works");
