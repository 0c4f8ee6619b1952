import { workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { SeededSource } from "../../src/testing/seeded-source.ts";
import { Cluster, faultsInStore, type Process } from "../lab/harness.ts";

const PARENTS = 12;
const KILLS = 40;

describe("among many kills", () => {
  test.each([1, 2, 3])(
    "every child exists once, and every result is delivered (seed %i)",
    async (seed) => {
      const cluster = new Cluster();
      const random = new SeededSource(seed);
      const leaf = workflow("leaf", async (ctx, n: number) => {
        await ctx.sleep("a while", { seconds: 1 + (n % 7) });
        const doubled = await ctx.step("double", () => n * 2);
        if (n % 5 === 0) throw new Error("a fifth of them fail");
        return doubled;
      });
      const main = workflow("main", async (ctx, n: number) => {
        let sum = 0;
        for (let round = 0; round < 3; round++) {
          const numbers = [1, 2, 3].map((i) => n * 10 + round * 3 + i);
          const results = await Promise.all(numbers.map((i) => ctx.child(leaf, i).catch(() => -1)));
          sum += results.reduce((a, b) => a + b, 0);
          await ctx.step("between", () => sum);
        }
        return sum;
      });
      const living: Process[] = [];
      const begin = async (): Promise<void> => {
        const process = cluster.process();
        living.push(process);
        await process.worker({ workflows: [main, leaf], lease: "6s", cacheSize: 3, concurrency: 20 });
      };
      await begin();
      await begin();
      await begin();
      const outside = cluster.process("outside");
      const runs = await cluster.until(
        outside.client.startMany(Array.from({ length: PARENTS }, (_, n) => ({ workflow: main, input: n }))),
      );
      for (let kill = 0; kill < KILLS; kill++) {
        await cluster.until(cluster.wait(Math.floor(random.next() * 1_500)));
        const victim = living.splice(Math.floor(random.next() * living.length), 1)[0];
        victim?.kill();
        await begin();
      }
      const expected = (n: number): number => {
        const numbers = Array.from({ length: 9 }, (_, i) => n * 10 + i + 1);
        return numbers.reduce((sum, i) => sum + (i % 5 === 0 ? -1 : i * 2), 0);
      };
      const results = await cluster.until(Promise.all(runs.map((run) => run.result())), "6 hours");
      expect(results).toEqual(runs.map((_, n) => expected(n)));
      await cluster.until(cluster.wait(60_000));
      const { state } = cluster.store;
      const leaves = [...state.runs.values()].filter(({ workflow: name }) => name === "leaf");
      expect(leaves).toHaveLength(PARENTS * 9);
      expect(state.debts.size).toBe(0);
      expect(faultsInStore(cluster.store)).toEqual([]);
      expect(cluster.trespasses()).toEqual([]);
      expect(cluster.errors).toEqual([]);
    },
    120_000,
  );
});
