// A worker process whose program waits for the result of a run that sleeps.
//   node --conditions=holdfast-source --import tsx waiting-program.ts url
import process from "node:process";
import { connect, silentLogger, workflow } from "holdfast";

const nap = workflow("nap", (ctx) => ctx.sleep("nap", "1 day"));
const hf = await connect(process.argv[2] ?? "", { logger: silentLogger });
await hf.worker({ workflows: [nap], handleSignals: true }).start();
const run = await hf.start(nap, undefined, { id: "r" });
console.log("waiting");
const error = await run.result().catch((caught) => caught);
console.log(error.code, (await run.describe().catch((caught) => caught)).status);
