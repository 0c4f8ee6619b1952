// Two shops on one packing line: three orders at a time, at most two of one shop, and the shops take turns.
//   npm start 20-limits
import { connect, silentLogger, workflow } from "holdfast";

interface Order {
  readonly shop: string;
  readonly item: number;
}

const inside: string[] = [];
let most = 0;
let mostOfOne = 0;

const pack = workflow(
  { name: "pack", queue: "packing", key: (order: Order) => order.shop },
  async (ctx, { shop, item }: Order) => {
    await ctx.step("begin", () => {
      inside.push(shop);
      most = Math.max(most, inside.length);
      mostOfOne = Math.max(mostOfOne, inside.filter((other) => other === shop).length);
    });
    await ctx.sleep("packing", "30ms");
    return ctx.step("finish", () => {
      inside.splice(inside.indexOf(shop), 1);
      return `${shop} ${item}`;
    });
  },
);

const hf = await connect("memory:", { logger: silentLogger });
await hf.queues.set("packing", { concurrency: 3, perKey: { concurrency: 2 } });
const orders = Array.from({ length: 40 }, (_, item) => ({ shop: "big", item }));
const big = await hf.startMany(orders.map((input) => ({ workflow: pack, input })));
const small = await hf.startMany([1, 2].map((item) => ({ workflow: pack, input: { shop: "small", item } })));
await hf.worker({ workflows: [pack] }).start();

console.log("done:", (await Promise.all(small.map((run) => run.result()))).join(", "));
const [queue] = (await hf.queues()).filter(({ name }) => name === "packing");
console.log("the big shop still waits:", (queue?.runs.waiting ?? 0) > 20);
for (const run of big) await run.result();
console.log(`never more than ${most} at once, and ${mostOfOne} of one shop`);
await hf.close();
