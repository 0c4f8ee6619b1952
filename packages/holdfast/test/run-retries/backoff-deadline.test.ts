import { workflow } from "holdfast";
import { expect, test } from "vitest";
import { openWorld } from "../lab/world.ts";

test("the timeout of a run that waits for its next try takes effect when it is due, and not at the next poll", async () => {
  const world = openWorld();
  let calls = 0;
  const hopeless = workflow(
    { name: "hopeless", retry: { attempts: 3, fixed: "20s" }, timeout: "2s" },
    async (ctx): Promise<void> => {
      await ctx.step(
        "bad",
        () => {
          calls += 1;
          throw new Error("down");
        },
        { retry: "none" },
      );
    },
  );
  const client = world.client();
  await world.worker(client, { workflows: [hopeless] });
  const began = world.clock.now();
  const run = await client.start(hopeless);
  await world.clock.advance("1s");
  const { status, availableAt, deadlineAt } = await run.describe();
  expect([status, availableAt]).toEqual(["sleeping", deadlineAt]);
  await expect(world.result(run)).rejects.toMatchObject({ code: "run_timed_out" });
  expect(world.clock.now() - began).toBe(2000);
  expect(calls).toBe(1);
});

test("a run whose next try comes before its timeout is tried again then", async () => {
  const world = openWorld();
  let calls = 0;
  const late = workflow({ name: "late", retry: { attempts: 3, fixed: "1s" }, timeout: "1500ms" }, (ctx) =>
    ctx.step(
      "bad",
      () => {
        calls += 1;
        if (calls === 1) throw new Error("down");
        return world.clock.now();
      },
      { retry: "none" },
    ),
  );
  const client = world.client();
  await world.worker(client, { workflows: [late] });
  const began = world.clock.now();
  expect((await world.result(await client.start(late))) - began).toBe(1000);
});
