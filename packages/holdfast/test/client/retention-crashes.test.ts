/** A leader that dies in the midst of retention: the next one goes on, and nothing goes that is to be kept. */
import { workflow } from "holdfast";
import type { PurgeRunsResult } from "holdfast/adapter";
import { expect, test } from "vitest";
import { Cluster, type Process, type StoreHook } from "../lab/harness.ts";

const done = workflow("done", async () => "done");
const fails = workflow({ name: "fails", retry: { attempts: 1 } }, async (ctx) => {
  await ctx.step("no", () => Promise.reject(new Error("no luck")), { retry: { attempts: 1 } });
});

test.each(["before", "after"] as const)("a leader that is killed %s it deletes a batch is replaced", async (side) => {
  const cluster = new Cluster();
  const victim: { process?: Process } = {};
  const hook: StoreHook = async (method, _params, next) => {
    if (method === "runs.purge" && side === "before") victim.process?.kill();
    const answer = await next();
    if (method === "runs.purge" && (answer as PurgeRunsResult).purged > 0) victim.process?.kill();
    return answer;
  };
  const leader = cluster.process("leader", hook);
  await leader.worker({ workflows: [done, fails] });
  const { client } = cluster.process("client");
  for (let i = 0; i < 300; i++) await client.start(done, undefined, { id: `done ${i}` });
  await client.start(fails, undefined, { id: "failed" });
  await cluster.when(() => [...cluster.store.state.runs.values()].every(({ endedAt }) => endedAt !== null), "1 hour");
  await client.retention.set({ completed: "5 minutes" });
  victim.process = leader;
  await cluster.when(() => leader.life.dead, "1 hour");
  // A batch is one call: it has happened as a whole, or not at all.
  expect(cluster.store.state.runs.size).toBe(side === "before" ? 301 : 51);
  await cluster.process("other").worker({ workflows: [done, fails] });
  await cluster.when(() => cluster.store.state.runs.size === 1, "1 hour");
  expect(cluster.runOf("failed").status).toBe("failed");
  expect([cluster.store.state.events.size, cluster.errors]).toEqual([1, []]);
});
