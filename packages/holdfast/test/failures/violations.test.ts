import { expect, test } from "vitest";
import { signal, workflow } from "../../src/define/definitions.ts";
import type { CommitRunsParams } from "../../src/ports/store.ts";
import { Cluster, Gate, type StoreHook } from "./harness.ts";

const go = signal("go");

test("a run that misuses ctx while it is being let go of is parked when it wakes", async () => {
  const cluster = new Cluster();
  const leaving = new Gate();
  const misused = new Gate();
  const rogue = workflow("rogue", async (ctx) => {
    void leaving.opened.then(() => ctx.step("too late", () => 1)).catch(() => misused.open());
    await ctx.receive(go);
    return "not reached";
  });
  const hook: StoreHook = async (method, params, next) => {
    const suspends =
      method === "commitRuns" && (params as CommitRunsParams).commits.some((c) => c.transition.type === "suspend");
    if (suspends) leaving.open();
    if (suspends) await misused.opened;
    return next();
  };
  const process = cluster.process("p", hook);
  await process.worker({ workflows: [rogue] });
  const run = await cluster.until(process.client.start(rogue, undefined, { id: "r" }));
  await cluster.when(() => cluster.runOf("r").status === "waiting");
  await cluster.until(run.signal(go));
  await cluster.when(() => cluster.runOf("r").status === "parked");
  expect(cluster.runOf("r").error).toMatchObject({ code: "outside_turn" });
});
