import { describe, expect, test } from "vitest";
import { signal, workflow } from "../../src/define/definitions.ts";
import type { WorkerOptions } from "../../src/engine/worker/worker-options.ts";
import { Cluster, faultsInStore } from "../lab/harness.ts";
import { faultsIn, runWorkload } from "../lab/workload.ts";

const ALL = Number.POSITIVE_INFINITY;
const SETTINGS = [0, 1, 1_000].flatMap((cacheSize) =>
  [1, 2, ALL].map((eventsPerHoldMax) => ({ cacheSize, eventsPerHoldMax })),
);

describe("what a worker keeps in memory makes no difference", () => {
  test.each(SETTINGS)("to a workload: %o", async ({ cacheSize, eventsPerHoldMax }) => {
    const undisturbed = await runWorkload();
    const settings: Partial<WorkerOptions> = { cacheSize, tuning: { eventsPerHoldMax } };
    const report = await runWorkload({ first: settings, second: settings });
    expect(faultsIn(report, undisturbed)).toEqual([]);
  });

  test.each(SETTINGS)("to a run that draws random numbers, races and receives: %o", async (settings) => {
    const output = await runMixed(settings);
    expect(output).toEqual(await runMixed({ cacheSize: 1_000, eventsPerHoldMax: ALL }));
  });
});

const word = signal<string>("word");

async function runMixed({
  cacheSize,
  eventsPerHoldMax,
}: {
  cacheSize: number;
  eventsPerHoldMax: number;
}): Promise<unknown> {
  const cluster = new Cluster();
  const mixed = workflow("mixed", async (ctx) => {
    const drawn: unknown[] = [ctx.random()];
    const raced = await ctx.race({
      slow: (branch) => branch.sleep("slow", "10s"),
      fast: (branch) => branch.step("fast", () => cluster.wait(5).then(() => "fast")),
    });
    drawn.push(ctx.uuid(), ctx.uuid("named"), ctx.random());
    const words = [await ctx.receive(word), await ctx.receive(word, { timeout: "1 day" })];
    const once = await ctx.step("once", () => "once", { onCrash: "fail" });
    const parts = await ctx.parallel(
      [1, 2, 3, 4].map((n) => (branch) => branch.step("part", () => n)),
      { limit: 2 },
    );
    const late = await ctx.receive(word, { timeout: "1s" });
    return { raced, words, once, parts, late, drawn, length: ctx.info.historyLength };
  });
  const process = cluster.process();
  await process.worker({ workflows: [mixed], cacheSize, tuning: { eventsPerHoldMax } });
  const run = await cluster.until(process.client.start(mixed, undefined, { id: "m" }));
  for (const text of ["one", "two"]) {
    await cluster.clock.advance("1s");
    await cluster.until(run.signal(word, text));
  }
  const output = await cluster.until(run.result());
  expect(cluster.repeated()).toEqual([]);
  expect(faultsInStore(cluster.store)).toEqual([]);
  return output;
}

test("a run that is evicted after every event reads its history again, and only then", async () => {
  const steps = workflow("steps", async (ctx) => {
    for (let i = 0; i < 5; i++) await ctx.step("s", () => i);
  });
  const reads = async (options: Partial<WorkerOptions>): Promise<number> => {
    const cluster = new Cluster();
    const process = cluster.process();
    await process.worker({ workflows: [steps], ...options });
    const run = await cluster.until(process.client.start(steps));
    await cluster.until(run.result());
    return cluster.store.calls["histories.read"] ?? 0;
  };
  expect(await reads({ cacheSize: 0, tuning: { eventsPerHoldMax: 1 } })).toBe(4);
  expect(await reads({ cacheSize: 1, tuning: { eventsPerHoldMax: 1 } })).toBe(0);
});
