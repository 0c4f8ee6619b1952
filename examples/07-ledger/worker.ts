// The process of one worker. An ordinary worker; that it is going to be killed is none of its business.
import process from "node:process";
import { connect } from "holdfast";
import { workflowsFor } from "./store.ts";

// main.ts has gone away (Ctrl-C, say): nobody watches any more.
process.on("disconnect", () => process.exit());

const url = process.argv[2] as string;
// Workers that take over from dead ones say so in the log; here that would be all there is to read.
const logger = { debug() {}, info() {}, warn() {}, error: console.error };
const hf = await connect(url, { logger });
// A short lease, so that nobody waits long for the runs of a dead worker. The default is 30 seconds.
await hf.worker({ workflows: Object.values(workflowsFor(url)), lease: "1s", concurrency: 8 }).start();
process.send?.("works");
