// The process of worker A. It is an ordinary worker and does not know that it will be killed.
import process from "node:process";
import { connect } from "holdfast";
import { order } from "./order.ts";
import { listen, tellingLogger } from "./tell.ts";

// main.ts has ended (Ctrl-C, for example): there is nothing left to do.
process.on("disconnect", () => process.exit());
listen("worker A", (line) => process.send?.({ line }));

const hf = await connect(process.argv[2] as string, { logger: tellingLogger });
// A short lease, so that the runs of a dead worker are reclaimed soon. The default is 30 seconds.
await hf.worker({ name: "A", workflows: [order], lease: "1s" }).start();
process.send?.({ ready: true });
