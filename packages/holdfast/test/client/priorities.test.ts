import { workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";

describe("priority", () => {
  test("larger is sooner, and among equals the one that was due first", async () => {
    const order: string[] = [];
    const job = workflow("job", (ctx, name: string) => ctx.step("work", () => order.push(name)));
    const urgent = workflow({ name: "urgent", priority: 9 }, (ctx) => ctx.step("work", () => order.push("urgent")));
    const fleet = openFleet();
    const client = fleet.client();
    for (const [name, priority] of Object.entries({ a: 0, b: 5, c: -9, d: 5, e: 0 })) {
      await client.start(job, name, { priority });
      await fleet.clock.advance("1s");
    }
    await client.start(urgent);
    await fleet.worker({ workflows: [job, urgent], concurrency: 1 });
    await fleet.clock.settle();
    expect(order).toEqual(["urgent", "b", "d", "a", "e", "c"]);
  });

  test("given at the start replaces that of the workflow, and is shown", async () => {
    const job = workflow({ name: "job", priority: 3 }, async () => {});
    const fleet = openFleet();
    const client = fleet.client();
    const own = await client.start(job);
    const given = await client.start(job, undefined, { priority: -2 });
    expect([(await own.describe()).priority, (await given.describe()).priority]).toEqual([3, -2]);
  });

  test("outside its range is refused, with the range", async () => {
    const fleet = openFleet();
    const job = workflow("job", async () => {});
    const message = "priority is 10; it must be a whole number from -9 to 9, larger is sooner.";
    await expect(fleet.client().start(job, undefined, { priority: 10 })).rejects.toMatchObject({
      code: "invalid_option",
      message: `start of workflow "job": ${message}`,
    });
    expect(() => workflow({ name: "job", priority: 10 }, async () => {})).toThrowError(`workflow("job"): ${message}`);
    expect(() => workflow({ name: "job", priority: 0.5 }, async () => {})).toThrowError("priority is 0.5");
  });
});

describe("a queue", () => {
  test("routes a run to the workers that serve it", async () => {
    const seen: string[] = [];
    const job = workflow({ name: "job", queue: "light" }, async (ctx) => {
      await ctx.step("work", () => seen.push(ctx.info.queue));
      return ctx.info.queue;
    });
    const fleet = openFleet();
    const client = fleet.client();
    const light = await fleet.worker({ workflows: [job] });
    const heavyRun = await client.start(job, undefined, { queue: "heavy" });
    expect(await fleet.result(await client.start(job))).toBe("light");
    await fleet.clock.settle();
    expect(await heavyRun.status()).toBe("pending");
    expect(light.activeRuns).toBe(0);
    await fleet.worker({ workflows: [job], queues: ["heavy"] });
    expect(await fleet.result(heavyRun)).toBe("heavy");
    expect((await client.list({ queue: "heavy" })).runs).toHaveLength(1);
    expect(seen).toEqual(["light", "heavy"]);
  });
});
