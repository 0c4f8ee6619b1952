import { task, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { deferred } from "../lab/deferred.ts";
import { openFleet } from "../lab/fleet.ts";

const echo = task("echo", async (text: string) => text.toUpperCase());
const three = workflow("three", async (ctx, text: string) => {
  const words: string[] = [];
  for (const suffix of ["a", "b", "c"]) words.push(await ctx.task(echo, text + suffix));
  return words.join(" ");
});

describe("a worker that executes runs and their tasks", () => {
  test("starts each task with the commit that schedules it, one after the other in its only slot", async () => {
    const fleet = openFleet();
    await fleet.worker({ workflows: [three], tasks: [echo], taskConcurrency: 1 });
    const run = await fleet.client().start(three, "x");
    expect(await fleet.result(run)).toBe("XA XB XC");
    expect(fleet.store.calls["tasks.finish"] ?? 0).toBe(0);
  });

  test("needs no more slots than it has runs in progress", async () => {
    const fleet = openFleet();
    const worker = { workflows: [three], tasks: [echo], concurrency: 10, taskConcurrency: 10 };
    await fleet.worker(worker);
    const client = fleet.client();
    const runs = await client.startMany(
      Array.from({ length: 40 }, (_, i) => ({ workflow: three, input: `${i}`, options: { id: `run-${i}` } })),
    );
    for (const run of runs) await fleet.result(run);
    expect(fleet.store.calls["tasks.finish"] ?? 0).toBe(0);
  });

  test("never executes more tasks at once than it has slots, and executes all of them", async () => {
    const fleet = openFleet();
    const gates = Array.from({ length: 5 }, () => deferred<void>());
    let running = 0;
    let most = 0;
    const held = task("held", async (i: number) => {
      running += 1;
      most = Math.max(most, running);
      await gates[i]?.promise;
      running -= 1;
      return i;
    });
    const fan = workflow("fan", async (ctx) => Promise.all(gates.map((_, i) => ctx.task(held, i))));
    await fleet.worker({ workflows: [fan], tasks: [held], taskConcurrency: 2 });
    const run = await fleet.client().start(fan, undefined);
    for (const gate of gates) {
      await fleet.clock.advance("1s");
      gate.resolve();
    }
    expect(await fleet.result(run)).toEqual([0, 1, 2, 3, 4]);
    expect(most).toBe(2);
  });
});
