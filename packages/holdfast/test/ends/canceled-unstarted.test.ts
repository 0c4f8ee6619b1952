import { expect, test } from "vitest";
import { signal, workflow } from "../../src/define/definitions.ts";
import { CLAIM_FALLBACK_MS, Cluster, type StoreHook, unavailable } from "../lab/harness.ts";

const note = signal<number>("note");

test("a run that was canceled before its code was ever called ends as canceled, whoever has to finish that", async () => {
  const cluster = new Cluster();
  const careful = workflow("careful", async (ctx) => {
    // What the code does first is a command: had it ever been called, history would begin with it.
    await ctx.sleep("first", "1 hour");
  });
  // A signal comes in while the end is on its way to the store, and the worker does not live to see the answer.
  const hook: StoreHook = async (method, _params, next) => {
    if (method !== "runs.commit") return next();
    await client.get("c").signal(note, 1);
    const answer = await next();
    doomed.kill();
    return answer;
  };
  const doomed = cluster.process("doomed", hook);
  const { client } = cluster.process("outside");
  const run = await cluster.until(client.start(careful, undefined, { id: "c", delay: "1s" }));
  await cluster.until(run.cancel("never mind"));
  await doomed.worker({ workflows: [careful] });
  await cluster.when(() => doomed.life.dead);
  await cluster.process("heir").worker({ workflows: [careful] });
  await cluster.when(() => cluster.runOf("c").heldBy === null && cluster.runOf("c").status !== "running");
  await cluster.clock.advance({ milliseconds: 2 * CLAIM_FALLBACK_MS });
  expect(cluster.runOf("c").status).toBe("canceled");
});

test("the code of a run whose deadline has passed before it could begin is not called, not even by an heir", async () => {
  for (const moment of ["before", "after"] as const) {
    const cluster = new Cluster();
    let calls = 0;
    const late = workflow({ name: "late", timeout: "1 minute" }, async () => ++calls);
    const doomed = cluster.process("doomed");
    cluster.store.fault = (at, method) => {
      if (method !== "runs.commit" || at !== moment || doomed.life.dead) return undefined;
      doomed.kill();
      return at === "before" ? unavailable() : undefined;
    };
    const { client } = cluster.process("outside");
    const run = await cluster.until(client.start(late, undefined, { id: "l" }));
    await cluster.until(run.signal(note, 1));
    await cluster.clock.advance("2 minutes"); // no worker is there
    await doomed.worker({ workflows: [late] });
    await cluster.when(() => doomed.life.dead);
    await cluster.process("heir").worker({ workflows: [late] });
    await cluster.until(expect(run.result()).rejects.toMatchObject({ code: "run_timed_out" }));
    expect([moment, calls, cluster.runOf("l").status]).toEqual([moment, 0, "timed_out"]);
  }
});
