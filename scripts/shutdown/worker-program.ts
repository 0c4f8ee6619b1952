// A worker process that is asked to stop: it starts a run whose first step lasts until the store says that its worker
// drains.
//   node --conditions=holdfast-source --import tsx worker-program.ts url mode
// Modes: "hand-on" ends the step then; "hang" only when it is aborted; "beside" is like "hang", with another signal
// listener.
import process from "node:process";
import { setTimeout as wait } from "node:timers/promises";
import { connect, silentLogger } from "holdfast";
import { twoSteps } from "./two-steps.ts";

/** Longer than the time in which a signal may arrive twice because a launcher passes it on. */
const BEYOND_ECHO_MS = 300;

const [url = "", mode = ""] = process.argv.slice(2);
const hf = await connect(url, { logger: silentLogger });
const shipping = twoSteps({
  first: async (s) => {
    console.log("in the step");
    while (!(await hf.workers.list()).some(({ status }) => status === "draining")) await wait(5);
    console.log("draining");
    if (mode === "hand-on") return;
    await wait(BEYOND_ECHO_MS);
    console.log("hanging");
    const busy = setInterval(() => {}, 1_000);
    await new Promise<void>((resolve) => s.signal.addEventListener("abort", () => resolve()));
    clearInterval(busy);
    console.log("aborted");
  },
  second: () => console.log("second step"),
});
if (mode === "beside") process.on("SIGINT", () => console.log("another listener heard it"));
await hf.worker({ workflows: [shipping], handleSignals: true, name: "one" }).start();
await hf.worker({ workflows: [], queues: ["idle"], handleSignals: true, name: "two" }).start();
await hf.start(shipping, undefined, { id: "r" });
