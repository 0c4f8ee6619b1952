import { connect, silentLogger, workflow } from "holdfast";
import type { Row } from "./report.ts";
import { freshStore, type StoreName } from "./stores.ts";

let firstNewStepAt = 0;

const long = workflow("long", async (ctx, input: { steps: number }) => {
  for (let i = 0; i < input.steps; i++) await ctx.step("s", () => i);
  await ctx.sleep("until another worker takes it", "2s");
  await ctx.step("new", () => {
    firstNewStepAt = Date.now();
  });
});

/** A run with a long history wakes on a worker that has never seen it: from its due time to its next new step. */
export async function coldClaim(name: StoreName, steps: number): Promise<Row[]> {
  const store = await freshStore(name);
  const first = await connect(store.url, { logger: silentLogger });
  const worker = first.worker({ workflows: [long] });
  await worker.start();
  const run = await first.start(long, { steps }, { id: "long" });
  while ((await run.status()) !== "sleeping") await new Promise((resolve) => setTimeout(resolve, 20));
  await worker.stop();
  const dueAt = (await run.describe()).availableAt?.getTime() ?? Date.now();
  const second = first.worker({ workflows: [long] });
  await second.start();
  await run.result();
  await first.close();
  await store.remove();
  return [
    { store: name, what: `cold claim of ${steps} steps: due to next new step, ms`, value: firstNewStepAt - dueAt },
  ];
}
