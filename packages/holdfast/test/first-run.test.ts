import { signal, workflow } from "holdfast";
import { testEngine } from "holdfast/testing";
import { expect, test } from "vitest";

const approve = signal<{ by: string }>("approve");

test("a workflow sleeps for a year, waits for a signal, and its history tells the story", async () => {
  const nap = workflow("nap", async (ctx, input: { n: number }) => {
    const doubled = await ctx.step("double", () => input.n * 2);
    await ctx.sleep("long", "365 days");
    const ok = await ctx.receive(approve, { timeout: "3 days" });
    return { doubled, by: ok?.by, at: ctx.now() };
  });
  const t = await testEngine({ workflows: [nap] });
  const run = await t.client.start(nap, { n: 21 }, { id: "n-1" });
  await run.signal(approve, { by: "ann" });
  expect(await run.result()).toMatchObject({ doubled: 42, by: "ann" });
  expect((await run.history()).map((event) => event.type)).toEqual([
    "run_started",
    "step_completed",
    "timer_created",
    "signal_received",
    "timer_fired",
    "run_completed",
  ]);
  await t.close();
});

test("a receive that nobody answers times out after its three days", async () => {
  const wait = workflow("wait", async (ctx) => (await ctx.receive(approve, { timeout: "3 days" })) ?? "nobody");
  const t = await testEngine({ workflows: [wait] });
  const before = t.clock.now();
  expect(await t.run(wait)).toBe("nobody");
  expect(t.clock.now() - before).toBe(3 * 24 * 3600 * 1000);
  await t.close();
});
