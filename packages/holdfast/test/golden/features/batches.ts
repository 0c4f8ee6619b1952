import { signal, workflow } from "holdfast";
import { batchWorkflow } from "../../../src/client/batches/batch-workflow.ts";
import { declined, type Feature } from "../feature.ts";

const go = signal<string>("go");
let works = false;
const target = workflow("batches-target", async (ctx) => {
  await ctx.step("work", () => (works ? "worked" : declined()), { retry: "none" });
  return [await ctx.receive(go), await ctx.receive(go)];
});

/** The code of batches themselves. A replay executes none of its steps, so it needs no client. */
const builtIn = batchWorkflow(undefined as never);

export const batches: Feature = {
  name: "batches",
  workflows: [target, builtIn],
  async happen(fleet) {
    const client = fleet.client();
    works = false;
    for (const id of ["a", "b", "c"]) await client.start(target, undefined, { id });
    await fleet.clock.settle();
    works = true;
    const who = { by: "ana", reason: "a drill" };
    const all = client.batch({ workflow: "batches-target" });
    await fleet.clock.until(all.retry({ ...who, id: "retry" }));
    await fleet.clock.settle();
    await fleet.clock.until(all.pause({ ...who, id: "pause" }));
    await fleet.clock.until(all.resume({ ...who, id: "resume", perSecond: 2 }));
    await fleet.clock.until(all.signal(go, "one", { id: "signal", perSecond: 1 }));
    await fleet.clock.until(client.batch({ id: "a" }).signal(go, "two", { id: "signal a" }));
    await fleet.clock.until(client.batch({ id: "b" }).cancel({ ...who, id: "cancel b" }));
    await fleet.clock.settle();
    await fleet.clock.until(all.terminate({ ...who, id: "terminate" }));
  },
};
