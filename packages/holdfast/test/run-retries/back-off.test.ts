import { describe, expect, test } from "vitest";
import { NonRetryableError, signal, update, workflow } from "../../src/index.ts";
import { Cluster, faultsInStore } from "../lab/harness.ts";

const MINUTE = 60_000;
const poke = signal("poke");
const ask = update<number, number>("ask");
const RETRIED = { name: "main", retry: { attempts: 3, fixed: "10m" } } as const;

describe.each([0, 100])("while a run waits to be tried again, with a cache of %i runs", (cacheSize) => {
  test("messages are received and answered, and its child is not tried again before its time", async () => {
    const cluster = new Cluster();
    const tries: number[] = [];
    const kid = workflow("kid", async (ctx) => {
      await ctx.step(
        "work",
        () => {
          tries.push(cluster.clock.now());
          if (tries.length === 1) throw new Error("not yet");
        },
        { retry: "none" },
      );
      return "done";
    });
    const main = workflow(RETRIED, async (ctx) => {
      ctx.on(ask, (n) => n);
      const result = await ctx.child(kid);
      for (let i = 0; i < 2; i++) await ctx.receive(poke);
      return result;
    });
    const process = cluster.process("p");
    await process.worker({ workflows: [main, kid], cacheSize });
    const run = await cluster.until(process.client.start(main, undefined, { id: "r" }));
    await cluster.when(() => tries.length === 1);
    for (let i = 0; i < 3; i++) {
      await cluster.until(cluster.wait(2 * MINUTE));
      if (i < 2) await cluster.until(run.signal(poke));
      expect(await cluster.until(run.update(ask, i))).toBe(i);
      expect(await cluster.until(run.status())).not.toBe("running");
    }
    expect(tries).toHaveLength(1);
    expect(await cluster.until(run.result())).toBe("done");
    expect(tries).toHaveLength(2);
    const [first = 0, second = 0] = tries;
    expect(second - first).toBeGreaterThanOrEqual(10 * MINUTE);
    expect(second - first).toBeLessThan(11 * MINUTE);
    expect([...faultsInStore(cluster.store), ...cluster.errors]).toEqual([]);
  });

  test("the result of another run is not asked for again before its time", async () => {
    const cluster = new Cluster();
    let tries = 0;
    const other = workflow("other", async (ctx) => {
      await ctx.step("work", () => {
        tries += 1;
        if (tries === 1) throw new NonRetryableError("not yet");
      });
      return "done";
    });
    const main = workflow(RETRIED, async (ctx) => ctx.resultOf(other, "other"));
    const asked: number[] = [];
    const process = cluster.process("p", async (method, _params, next) => {
      if (method === "runs.watch") asked.push(cluster.clock.now());
      return next();
    });
    await process.worker({ workflows: [main, other], cacheSize });
    const watched = await cluster.until(process.client.start(other, undefined, { id: "other" }));
    await cluster.until(watched.result().catch(() => {}));
    const run = await cluster.until(process.client.start(main, undefined, { id: "r" }));
    await cluster.when(() => asked.length === 1);
    await cluster.until(cluster.wait(MINUTE));
    await cluster.until(watched.retry());
    await cluster.until(watched.result());
    await cluster.until(run.signal(poke));
    await cluster.until(cluster.wait(MINUTE));
    expect(asked).toHaveLength(1);
    expect(await cluster.until(run.result())).toBe("done");
    expect((asked[1] as number) - (asked[0] as number)).toBeGreaterThanOrEqual(10 * MINUTE);
  });

  test.each(["cancel", "terminate"] as const)("a %s acts at once", async (how) => {
    const cluster = new Cluster();
    let tries = 0;
    const kid = workflow("kid", async (ctx) => {
      await ctx.step(
        "work",
        () => {
          tries += 1;
          throw new Error("no");
        },
        { retry: "none" },
      );
    });
    const main = workflow(RETRIED, async (ctx) => ctx.child(kid, undefined, { compensate: () => {} }));
    const process = cluster.process("p");
    await process.worker({ workflows: [main, kid], cacheSize });
    const run = await cluster.until(process.client.start(main, undefined, { id: "r" }));
    await cluster.when(() => tries === 1);
    await cluster.until(cluster.wait(MINUTE));
    const began = cluster.clock.now();
    await cluster.until(run[how]());
    await expect(cluster.until(run.result())).rejects.toMatchObject({
      code: how === "cancel" ? "run_canceled" : "run_terminated",
    });
    expect(cluster.clock.now() - began).toBeLessThan(MINUTE);
    expect(tries).toBe(1);
  });
});
