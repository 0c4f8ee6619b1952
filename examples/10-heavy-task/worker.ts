// A process that does nothing but heavy tasks.
import process from "node:process";
import { connect, silentLogger } from "holdfast";
import { renderBand } from "./picture.ts";

// main.ts has ended (Ctrl-C, for example): there is nothing left to do.
process.on("disconnect", () => process.exit());

const hf = await connect(process.argv[2] as string, { logger: silentLogger });
// One at a time: a task that computes has the whole thread, and the worker's heartbeat must come through in between. This is
// also the place for a pool of threads, if one process is to compute several at once.
await hf.worker({ tasks: [renderBand], taskConcurrency: 1 }).start();
process.send?.("works");
