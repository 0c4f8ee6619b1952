import { task, workflow } from "holdfast";
import { expect, test } from "vitest";
import { openWorld } from "../lab/world.ts";

test("a step that began after a task had ended is undone before it, also if it was asked for earlier", async () => {
  const world = openWorld();
  const log: string[] = [];
  const does = (what: string) => (): void => void log.push(what);
  const charge = task("charge", does("charge"));
  const main = workflow("main", async (ctx) => {
    // More events than its worker allows: it starts no step, and lets the run go when the task has ended.
    await ctx.step("look", () => {});
    const booked = ctx.step("book", does("book"), { compensate: does("cancel booking") });
    ctx.compensate("apologize", does("apologize"));
    await Promise.all([booked, ctx.task(charge, undefined, { compensate: does("refund") })]);
    throw new Error("sold out");
  });
  const client = world.client();
  await world.worker(client, { workflows: [main], tasks: [charge], tuning: { eventsPerHoldMax: 1 } });
  const run = await client.start(main);
  await expect(world.result(run)).rejects.toMatchObject({ code: "run_failed" });
  expect(log).toEqual(["charge", "book", "cancel booking", "refund", "apologize"]);
});
