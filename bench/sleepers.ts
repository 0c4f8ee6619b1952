import { connect, silentLogger, workflow } from "holdfast";
import { quantile, type Row } from "./report.ts";
import { freshStore, type StoreName } from "./stores.ts";

const late: number[] = [];

const sleeper = workflow("sleeper", async (ctx, input: { at: number }) => {
  await ctx.sleepUntil("nap", new Date(input.at));
  late.push(Date.now() - input.at);
});

/** Many sleeping runs whose wake-ups are spread over a minute: how late they are, and what they cost in memory. */
export async function sleepers(name: StoreName, count: number, say: (line: string) => void): Promise<Row[]> {
  const store = await freshStore(name);
  late.length = 0;
  const hf = await connect(store.url, { logger: silentLogger });
  const worker = hf.worker({ workflows: [sleeper], concurrency: 500 });
  await worker.start();
  global.gc?.();
  const memoryBefore = process.memoryUsage().rss;
  // Far enough away that all of them sleep before the first one wakes.
  const firstAt = Date.now() + Math.max(10_000, count / 2);
  const began = Date.now();
  for (let i = 0; i < count; i += 1000) {
    const size = Math.min(1000, count - i);
    await hf.startMany(
      Array.from({ length: size }, (_, k) => ({
        workflow: sleeper,
        input: { at: firstAt + Math.floor(((i + k) * 60_000) / count) },
      })),
    );
  }
  say(`${name}: ${count} started in ${((Date.now() - began) / 1000).toFixed(1)} s`);
  let memory = 0;
  while (late.length < count) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    memory = Math.max(memory, process.memoryUsage().rss);
    if (Date.now() > firstAt + 180_000) break;
  }
  await hf.close();
  await store.remove();
  const mib = (bytes: number): number => Math.round(bytes / 1024 / 1024);
  return [
    { store: name, what: `${count} sleepers over a minute: woken`, value: late.length },
    { store: name, what: "lateness p50, ms", value: quantile(late, 0.5) },
    { store: name, what: "lateness p99, ms", value: quantile(late, 0.99) },
    { store: name, what: "lateness max, ms", value: quantile(late, 1) },
    { store: name, what: "growth of the worker's memory, MiB", value: mib(memory - memoryBefore) },
  ];
}
