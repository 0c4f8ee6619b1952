// The process of a worker that has the code of the cart:
//   worker.ts <store> <name> [slow]
// A slow one takes long to charge, so that there is time to kill it.
import process from "node:process";
import { connect, silentLogger } from "holdfast";
import { makeCart } from "./cart.ts";

const [url, name, slow] = process.argv.slice(2) as [string, string, string | undefined];
// main.ts has ended (Ctrl-C, for example): there is nothing left to do.
process.on("disconnect", () => process.exit());

const cart = makeCart({
  async charge(cents, card) {
    process.send?.({ says: `${name} charges ${cents} cents to ${card}` });
    if (slow) await new Promise((resolve) => setTimeout(resolve, 60_000));
    return `receipt for ${cents} cents`;
  },
});
const hf = await connect(url, { logger: silentLogger });
// Short, so that the death of this process is noticed soon; the default is 30 seconds.
await hf.worker({ name, workflows: [cart], lease: "1s" }).start();
process.send?.({ ready: true });
