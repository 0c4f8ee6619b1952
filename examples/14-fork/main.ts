// An order fails because the carrier does not know its street. Support fixes the address by hand, and lets the order go on in
// a fork: nobody is charged twice.
import { connect, NonRetryableError, silentLogger, workflow } from "holdfast";

const said = <T>(text: string, value: T): T => {
  console.log(`  ${text}`);
  return value;
};

const order = workflow("order", async (ctx, item: string) => {
  const payment = await ctx.step("charge", () => said(`charge for the ${item}`, "payment-1"));
  const address = await ctx.step("look up address", () => said("look up address", "5 Wrong Street"));
  const label = await ctx.step("print label", () => {
    if (address.includes("Wrong")) throw new NonRetryableError(`no such street: ${address}`);
    return said(`print label for ${address}`, `label for ${address}`);
  });
  return `${payment}, ${label}`;
});

const hf = await connect("memory:", { logger: silentLogger });
await hf.worker({ workflows: [order] }).start();

console.log("The order:");
const run = await hf.start(order, "lamp", { id: "order-1" });
console.log(await run.result().catch((error) => `Failed: ${error.cause.message}`));

console.log("Its fork:");
const fork = await run.fork({
  before: "look up address",
  edit: { "look up address": { result: "5 Long Street" } },
  id: "order-1-repaired",
  by: "ana",
  reason: "a wrong entry in the address book",
});
console.log(await fork.result());
for (const { op, status, edited } of await fork.steps())
  console.log(`  ${op}: ${status}${edited ? ", edited by hand" : ""}`);
console.log(`${(await run.describe()).id} is still ${await run.status()}.`);
await hf.close();
