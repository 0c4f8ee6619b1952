import { expect, test } from "vitest";
import { signal, workflow } from "../../src/index.ts";
import { Cluster, faultsInStore, Valve } from "../lab/harness.ts";

const word = signal<string>("word");

/** Far more than the turn loop takes in one batch. */
const CONDITIONS = 100;

test("a turn that runs on while the store answers is written when it has closed", async () => {
  const commits = new Valve("runs.commit", "calls");
  let heard = 0;
  const long = workflow("long", async (ctx) => {
    const first = await ctx.receive(word);
    heard += 1;
    const second = await ctx.receive(word);
    heard += 1;
    // Each condition that comes true keeps the turn open. In the middle of it, the committer gets to write this run.
    for (let met = 0; met < CONDITIONS; met++) {
      if (met === CONDITIONS / 2) commits.open();
      await ctx.until(() => true);
    }
    return ctx.step("spell", () => `${first} ${second}`);
  });
  const other = workflow("other", async (ctx) => ctx.step("s", () => 1));

  const cluster = new Cluster();
  const process = cluster.process("p1", commits.hook);
  await process.worker({ workflows: [long, other], tuning: { flushesInFlightMax: 1 } });
  const run = await cluster.until(process.client.start(long, undefined, { id: "long" }));
  await cluster.when(() => cluster.runOf("long").status === "waiting");

  commits.shut();
  const beside = await cluster.until(process.client.start(other, undefined, { id: "other" }));
  await cluster.when(() => commits.waiting === 1);
  await cluster.until(run.signal(word, "hold"));
  await cluster.when(() => heard === 1);
  await cluster.until(run.signal(word, "fast"));
  expect(await cluster.until(run.result())).toBe("hold fast");
  expect(await cluster.until(beside.result())).toBe(1);
  expect(heard).toBe(2);
  expect(cluster.repeated()).toEqual([]);
  expect(faultsInStore(cluster.store)).toEqual([]);
});
