import { expect, test } from "vitest";
import { workflow } from "../../src/index.ts";
import { Cluster, Gate, Valve } from "../lab/harness.ts";

test("code that ends by something that is not a ctx operation, while its run is being let go of, parks the run when it wakes", async () => {
  const cluster = new Cluster();
  const answers = new Valve("runs.commit", "answers");
  const p = cluster.process("p", answers.hook);
  const foreign = new Gate();
  const flow = workflow("flow", async (ctx) => {
    await Promise.race([foreign.opened, ctx.sleep("nap", "10s")]);
  });
  await p.worker({ workflows: [flow] });
  answers.shut();
  const run = await cluster.until(p.client.start(flow, undefined, { id: "x" }));
  await cluster.when(() => answers.waiting > 0);
  foreign.open();
  await foreign.opened;
  answers.open();
  await expect(cluster.until(run.result())).rejects.toMatchObject({ code: "run_parked" });
  expect(cluster.store.state.runs.get(run.runId)).toMatchObject({ status: "parked", error: { code: "foreign_await" } });
});
