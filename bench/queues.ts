// What limits of queues hold, and what they cost: a rate over a while with three workers, and the ten runs of one key among very many of
// another. Not a part of the report: `npx tsx --conditions=holdfast-source bench/queues.ts <url> [seconds] [runs]`.
import process from "node:process";
import { type AnyWorkflow, type Client, connect, silentLogger, type Worker, workflow } from "holdfast";

const [url = "memory:", seconds = "60", many = "100000"] = process.argv.slice(2);
const RATE = 100;
const begun: number[] = [];

const short = workflow({ name: "short", queue: "rated" }, (ctx) =>
  ctx.step("note", () => void begun.push(performance.now())),
);
const fair = workflow({ name: "fair", queue: "fair" }, async (ctx) => {
  await ctx.step("begin", () => 1);
  await ctx.sleep("work", "100ms");
});

const clients: Client[] = [];
async function startWorkers(count: number, definition: AnyWorkflow): Promise<Worker[]> {
  const workers: Worker[] = [];
  for (let i = 0; i < count; i++) {
    const hf = await connect(url, { logger: silentLogger });
    clients.push(hf);
    const worker = hf.worker({ workflows: [definition], concurrency: 50 });
    await worker.start();
    workers.push(worker);
  }
  return workers;
}

async function startAll(hf: Client, count: number, definition: AnyWorkflow, key: string): Promise<void> {
  for (let i = 0; i < count; i += 1_000) {
    const size = Math.min(1_000, count - i);
    await hf.startMany(Array.from({ length: size }, () => ({ workflow: definition, options: { key } })));
  }
}

const hf = await connect(url, { logger: silentLogger });
clients.push(hf);

await hf.queues.set("rated", { rate: { limit: RATE, per: "1s", burst: 10 } });
await startAll(hf, RATE * (Number(seconds) + 5), short, "a");
const rated = await startWorkers(3, short);
const until = performance.now() + (Number(seconds) + 2) * 1_000;
while (performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 100));
const first = begun[0] as number;
const within = begun.filter((at) => at - first < Number(seconds) * 1_000).length;
console.log(`rate: ${(within / Number(seconds)).toFixed(2)} per second over ${seconds} s, wanted ${RATE}`);
for (const worker of rated) await worker.stop();

await hf.queues.set("fair", { concurrency: 40 });
const tenOfB = async (): Promise<number> => {
  const began = performance.now();
  const runs = await hf.startMany(Array.from({ length: 10 }, () => ({ workflow: fair, options: { key: "b" } })));
  await Promise.all(runs.map((run) => run.result()));
  return performance.now() - began;
};
await startWorkers(3, fair);
for (let i = 0; i < 5; i++) await tenOfB();
const alone = Math.min(await tenOfB(), await tenOfB(), await tenOfB());
await startAll(hf, Number(many), fair, "a");
const among = [await tenOfB(), await tenOfB(), await tenOfB()].sort((a, b) => a - b);
const queue = (await hf.queues()).find(({ name }) => name === "fair");
console.log(
  `fairness: ten runs take ${alone.toFixed(0)} ms alone, ${among[1]?.toFixed(0)} ms while ${queue?.runs.waiting} of another key wait`,
);
for (const client of clients) await client.close();
