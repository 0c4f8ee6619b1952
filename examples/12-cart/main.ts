// A web shop talks to a cart that lives in another process; that process is killed while the cart is being paid.
//   npm start 12-cart                             on a fresh SQLite file
//   npm start 12-cart -- --store postgres://…
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { connect, isHoldfastError, silentLogger } from "holdfast";
import { add, checkout, contents, remove } from "./cart.ts";

const { values } = parseArgs({ options: { store: { type: "string" } } });
const folder = mkdtempSync(path.join(os.tmpdir(), "holdfast-cart-"));
const url = values.store ?? `file:${path.join(folder, "carts.db")}`;

// This process has names and types, and no worker: whatever it is told comes from another process.
const hf = await connect(url, { logger: silentLogger });
const first = await startWorker("worker A", "slow");
const cart = await hf.start("cart", "Ann", { id: `cart-ann-${Date.now()}` });

console.log("empty:  ", await cart.update(checkout, { card: "4711" }).catch(refusal));
console.log("add:    ", await cart.update(add, { item: "lamp", cents: 4_990 }));
// The shop does not know whether its click got through, and sends it again, with the same id: it counts once.
const bulb = { item: "bulb", cents: 300 };
console.log("add:    ", await cart.update(add, bulb, { id: "click-2" }));
console.log("again:  ", await cart.update(add, bulb, { id: "click-2" }));
console.log("remove: ", await cart.update(remove, "piano").catch(refusal));
console.log("show:   ", await cart.query(contents));

const paying = await cart.update(checkout, { card: "4711" }, { id: "pay", wait: "accepted" });
console.log("accepted:", paying.id);
console.log("add:    ", await cart.update(add, { item: "piano", cents: 450_000 }).catch(refusal));
console.log(await first.charges);
first.process.kill("SIGKILL");
await once(first.process, "exit");
console.log("worker A is killed while it charges");

const second = await startWorker("worker B");
console.log(await second.charges);
console.log("paid:   ", await paying.result());
console.log("again:  ", await cart.update(checkout, { card: "4711" }, { id: "pay" }));
console.log("result: ", await cart.result());
console.log("show:   ", await cart.query(contents));
console.log("add:    ", await cart.update(add, bulb).catch(refusal));
const updates = (await cart.history()).filter(({ type }) => type.startsWith("update_"));
console.log(
  "history:",
  updates.map(({ type, op }) => `${type} ${op}`),
);

await hf.close();
second.process.disconnect();
await once(second.process, "exit");
rmSync(folder, { recursive: true, force: true });

/** `charges` is what it says when it charges. */
async function startWorker(
  name: string,
  ...rest: string[]
): Promise<{ process: ChildProcess; charges: Promise<string> }> {
  const file = fileURLToPath(new URL("worker.ts", import.meta.url));
  const child = fork(file, [url, name, ...rest], { execArgv: ["--import", "tsx"] });
  let charge = (_says: string): void => {};
  const charges = new Promise<string>((resolve) => {
    charge = resolve;
  });
  await new Promise<void>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`${name} ended with ${code}`)));
    child.on("message", ({ says, ready }: { says?: string; ready?: boolean }) => {
      if (says) charge(says);
      if (ready) resolve();
    });
  });
  return { process: child, charges };
}

function refusal(error: unknown): string {
  if (!isHoldfastError(error)) throw error;
  return error.cause instanceof Error ? `${error.code}: ${error.cause.message}` : error.code;
}
