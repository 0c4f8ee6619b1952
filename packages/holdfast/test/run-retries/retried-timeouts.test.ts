import { type RunHandle, workflow } from "holdfast";
import { expect, test } from "vitest";
import { openWorld, type World } from "../lab/world.ts";

const HOUR_MS = 3_600_000;

function leftMs(world: World, run: RunHandle): number {
  return (world.row(run).deadlineAt ?? 0) - world.clock.now();
}

test("each retry() gives a run its whole timeout again, and no more", async () => {
  const world = openWorld();
  const client = world.client();
  const job = workflow({ name: "job", timeout: "1h" }, (ctx) =>
    ctx.step("bad", () => Promise.reject(new Error("down")), { retry: "none" }),
  );
  await world.worker(client, { workflows: [job] });
  const run = await client.start(job);
  for (let retries = 0; retries < 3; retries++) {
    await expect(world.result(run)).rejects.toMatchObject({ code: "run_failed" });
    await world.clock.advance("3h");
    const before = world.clock.now();
    await world.clock.until(run.retry());
    expect(leftMs(world, run) + world.clock.now() - before).toBe(HOUR_MS);
  }
});

test("a run that was retried and continues as new passes on the timeout that it was started with", async () => {
  const world = openWorld();
  const client = world.client();
  let down = true;
  const job = workflow({ name: "job", timeout: "1h" }, async (ctx, again: boolean) => {
    if (!again) return ctx.sleep("rest", "10m");
    await ctx.step("bad", () => (down ? Promise.reject(new Error("down")) : "up"), { retry: "none" });
    return ctx.continueAsNew(false);
  });
  await world.worker(client, { workflows: [job] });
  const run = await client.start(job, true, { id: "r" });
  await expect(world.result(run)).rejects.toMatchObject({ code: "run_failed" });
  await world.clock.advance("3h");
  down = false;
  await world.clock.until(run.retry());
  await world.result(run);
  const { createdAt, deadlineAt } = await client.get("r").describe();
  expect(Number(deadlineAt) - Number(createdAt)).toBe(HOUR_MS);
});
