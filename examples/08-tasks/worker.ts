// The process of a worker that executes tasks and knows no workflow:
//   worker.ts <store> payments | mail
import process from "node:process";
import { connect, silentLogger } from "holdfast";
import { processPayment, reserveInventory, sendMail } from "./order.ts";
import { speakAs } from "./tell.ts";

const [url, name] = process.argv.slice(2) as [string, "payments" | "mail"];
// main.ts has ended (Ctrl-C, for example): there is nothing left to do.
process.on("disconnect", () => process.exit());
speakAs(name);

const hf = await connect(url, { logger: silentLogger });
const worker =
  name === "payments"
    ? hf.worker({ name, tasks: [reserveInventory, processPayment], taskConcurrency: 10 })
    : hf.worker({ name, tasks: [sendMail], labels: ["smtp"], taskConcurrency: 2 });
await worker.start();
process.send?.({ ready: true });
