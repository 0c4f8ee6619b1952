// The process of worker A. An ordinary worker; that it is going to be killed is none of its business.
import process from "node:process";
import { connect } from "holdfast";
import { order } from "./order.ts";
import { listen, tellingLogger } from "./tell.ts";

// main.ts has gone away (Ctrl-C, say): nobody watches any more.
process.on("disconnect", () => process.exit());
listen("worker A", (line) => process.send?.({ line }));

const hf = await connect(process.argv[2] as string, { logger: tellingLogger });
// A short lease, so that nobody waits long for the runs of a dead worker. The default is 30 seconds.
await hf.worker({ name: "A", workflows: [order], lease: "1s" }).start();
process.send?.({ ready: true });
