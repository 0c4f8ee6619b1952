import { expect, test } from "vitest";
import { HoldfastError, signal, update, workflow } from "../../src/index.ts";
import { Cluster, faultsInStore } from "../lab/harness.ts";

const add = update<number, number>("add");
const stop = signal("stop");

test("an update to a run that has failed and is to be tried again is decided by its next try", async () => {
  const cluster = new Cluster();
  let tries = 0;
  const w = workflow({ name: "w", retry: { attempts: 2, fixed: "10m" } }, async (ctx) => {
    let sum = 0;
    ctx.on(add, (n) => {
      sum += n;
      return sum;
    });
    // Keeps the run with its worker after it has failed.
    const long = ctx.step("long", () => cluster.wait(60_000));
    await ctx.step(
      "fails once",
      () => {
        tries += 1;
        if (tries === 1) throw new Error("not yet");
      },
      { retry: "none" },
    );
    await long;
    await ctx.receive(stop);
    return sum;
  });
  const process = cluster.process("p");
  await process.worker({ workflows: [w] });
  const run = await cluster.until(process.client.start(w, undefined, { id: "r" }));
  await cluster.when(() => tries === 1);
  const began = cluster.clock.now();
  expect(await cluster.until(run.update(add, 3))).toBe(3);
  expect(await cluster.until(run.update(add, 4))).toBe(7);
  // Long before the failed step is due again.
  expect(cluster.clock.now() - began).toBeLessThan(5 * 60_000);
  expect(tries).toBe(1);
  await cluster.until(run.signal(stop));
  expect(await cluster.until(run.result())).toBe(7);
  expect(tries).toBe(2);
  expect([...faultsInStore(cluster.store), ...cluster.errors]).toEqual([]);
  expect(cluster.executions.filter(({ op }) => op === "long")).toHaveLength(1);
});

test("what an update has done before the failure is done once, and its answer stays", async () => {
  const cluster = new Cluster();
  let tries = 0;
  let booked = 0;
  const w = workflow({ name: "w", retry: { attempts: 2, fixed: "10m" } }, async (ctx) => {
    let sum = 0;
    ctx.on(add, async (n) => {
      await ctx.step("book", () => {
        booked += 1;
      });
      sum += n;
      return sum;
    });
    await ctx.until(() => sum > 0);
    await ctx.step(
      "fails once",
      () => {
        tries += 1;
        if (tries === 1) throw new Error("not yet");
      },
      { retry: "none" },
    );
    return sum;
  });
  const process = cluster.process("p");
  await process.worker({ workflows: [w], cacheSize: 0 });
  const run = await cluster.until(process.client.start(w, undefined, { id: "r" }));
  expect(await cluster.until(run.update(add, 3, { id: "u" }))).toBe(3);
  expect(await cluster.until(run.result())).toBe(3);
  expect(await cluster.until(run.update(add, 3, { id: "u" }))).toBe(3);
  expect({ tries, booked }).toEqual({ tries: 2, booked: 1 });
  expect([...faultsInStore(cluster.store), ...cluster.errors]).toEqual([]);
});

test("an update that is answered once more after a retry keeps its first answer, also for a caller beside the worker", async () => {
  const cluster = new Cluster();
  let tries = 0;
  const ask = update<void, string>("ask");
  const w = workflow("w", async (ctx) => {
    let state = "pending";
    ctx.on(ask, async () => {
      await ctx.sleep("a moment", "1s");
      return state;
    });
    const failing = ctx.step("fails once", () => ++tries > 1 || Promise.reject(new Error("no")), { retry: "none" });
    failing.catch(() => {
      state = "failed";
    });
    await ctx.receive(stop);
    await failing;
    // Long enough for the handler to answer again.
    await ctx.sleep("before the end", "1m");
  });
  const first = cluster.process("first");
  const worker = await first.worker({ workflows: [w] });
  const run = await cluster.until(first.client.start(w, undefined, { id: "r" }));
  await cluster.when(() => tries === 1);
  // This process is told nothing until the run has answered twice.
  const answers = () => cluster.eventsOf("r").filter(({ type }) => type === "update_completed").length;
  const second = cluster.process("second", async (method, _params, next) => {
    if (method === "inbox.replies" && answers() < 2) throw new HoldfastError("store_unavailable", "not now");
    return next();
  });
  const told = second.client.get("r").update(ask, undefined, { id: "u" });
  await cluster.when(() => answers() === 1);
  await cluster.until(run.signal(stop));
  await expect(cluster.until(run.result())).rejects.toMatchObject({ code: "run_failed" });
  await cluster.until(worker.stop());
  await second.worker({ workflows: [w] });
  await cluster.until(run.retry());
  expect(await cluster.until(told)).toBe("failed");
  expect(answers()).toBe(2);
  expect(await cluster.until(first.client.get("r").update(ask, undefined, { id: "u" }))).toBe("failed");
  await cluster.until(run.result());
});
