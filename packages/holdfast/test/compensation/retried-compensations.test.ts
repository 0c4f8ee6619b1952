import { expect, test } from "vitest";
import { workflow } from "../../src/define/definitions.ts";
import { NonRetryableError } from "../../src/errors/step-errors.ts";
import { Cluster, faultsInStore, unavailable } from "../lab/harness.ts";

test("a crash anywhere in a retried compensation repeats none that has succeeded", async () => {
  let crashes = 0;
  for (let commit = 1; commit <= 8; commit++) {
    for (const moment of ["before", "after"] as const) {
      const undone: string[] = [];
      let broken = true;
      const saga = workflow("saga", async (ctx) => {
        for (const name of ["a", "b", "c", "d"]) {
          const undo = (): void => {
            undone.push(name);
            if (broken && (name === "d" || name === "b")) throw new NonRetryableError("not now");
          };
          await ctx.step(name, () => name, { compensate: undo });
        }
        throw new Error("no stock");
      });
      const cluster = new Cluster();
      const doomed = cluster.process("doomed");
      const heir = cluster.process("heir");
      await doomed.worker({ workflows: [saga] });
      const run = await cluster.until(heir.client.start(saga, undefined, { id: "s" }));
      await cluster.until(expect(run.result()).rejects.toMatchObject({ code: "run_failed" }));
      expect(undone.splice(0).join("")).toBe("dcba");
      broken = false;
      let commits = 0;
      cluster.store.fault = (at, method) => {
        if (method !== "runs.commit" || at !== moment || ++commits !== commit) return undefined;
        crashes += 1;
        doomed.kill();
        return at === "before" ? unavailable() : undefined;
      };
      await cluster.until(run.retry());
      await cluster.clock.advance("1s");
      await heir.worker({ workflows: [saga] });
      await cluster.until(expect(run.result()).rejects.toMatchObject({ cause: { message: "no stock" } }));
      // What was under way when the worker died is repeated, and nothing else.
      expect([commit, moment, undone.join("")]).toEqual([commit, moment, expect.stringMatching(/^d{1,2}b{1,2}$/)]);
      expect(cluster.runOf("s")).toMatchObject({ status: "failed", compensation: "compensated" });
      expect(faultsInStore(cluster.store)).toEqual([]);
    }
  }
  expect(crashes).toBeGreaterThan(3);
});
