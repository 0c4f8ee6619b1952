// An order with three shipments, each a child: one needs a second attempt, and one fails until there is a larger van.
//   npm start 11-shipments                                in memory
//   npm start 11-shipments -- --store file:orders.db      or postgres://…
import { parseArgs } from "node:util";
import { connect, silentLogger } from "holdfast";
import { makeOrder, tooHeavy } from "./order.ts";

const { values } = parseArgs({ options: { store: { type: "string", default: "memory:" } } });

let largestVan = 100;
const { order, shipment, furnish } = makeOrder({
  pick: (item) => console.log(`  ${item}: picked`),
  deliver(it, attempt) {
    if (it.kilograms > largestVan) throw tooHeavy(it);
    if (it.item === "chair" && attempt === 1) throw new Error("the van has broken down");
    console.log(`  ${it.item}: delivered at attempt ${attempt}`);
  },
  takeBack: (item) => console.log(`  ${item}: taken back`),
});
const lamp = { item: "lamp", kilograms: 2 };
const chair = { item: "chair", kilograms: 8 };
const piano = { item: "piano", kilograms: 400 };

const hf = await connect(values.store, { logger: silentLogger });
// Two workers; in production they may be two processes, deployed by two teams.
await hf.worker({ workflows: [order, furnish] }).start();
await hf.worker({ workflows: [shipment] }).start();

const id = `order-${Date.now()}`;
console.log("The order is placed: three shipments.");
const run = await hf.start(order, { id, items: [lamp, chair, piano] }, { id });
await run.result().catch((error) => console.log(`The order failed. ${rootOf(error).message}.`));
await showShipments();

console.log("Somebody finds a larger van, and retries the order. The piano is not picked again:");
largestVan = 500;
await run.retry();
console.log(`The order: ${(await run.result()).join(", ")}.`);
await showShipments();

console.log("All or nothing: the van is away again, and what was delivered is taken back.");
largestVan = 100;
await hf.run(furnish, { id, items: [lamp, piano] }).catch((error) => console.log(`Failed. ${rootOf(error).message}.`));
await hf.close();

async function showShipments(): Promise<void> {
  const { runs } = await hf.list({ parent: run.runId });
  const shown = runs.map((child) => `${child.id.slice(id.length + 1)} ${child.status}`);
  console.log(`Its children: ${shown.sort().join(", ")}.`);
}

function rootOf(error: Error): Error {
  return error.cause instanceof Error ? rootOf(error.cause) : error;
}
