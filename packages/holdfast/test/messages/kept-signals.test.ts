import { signal, workflow } from "holdfast";
import { testEngine } from "holdfast/testing";
import { expect, test } from "vitest";

const a = signal<string>("a");
const b = signal<string>("b");

test("a branch that loses a race in the turn in which it took a signal leaves the signal for later", async () => {
  const both = workflow("both", async (ctx) => {
    await ctx.sleep("until both are here", "1s");
    const first = await ctx.race({ a: (c) => c.receive(a), b: (c) => c.receive(b) });
    const second = await ctx.race({ a: (c) => c.receive(a), b: (c) => c.receive(b) });
    return [first, second];
  });
  const t = await testEngine({ workflows: [both] });
  const run = await t.client.start(both, undefined, { id: "r" });
  await run.signal(a, "1");
  await run.signal(b, "2");
  expect(await run.result()).toEqual([
    { winner: "a", value: "1" },
    { winner: "b", value: "2" },
  ]);
  await t.close();
});

test("an id that belongs to a run of another workflow is refused", async () => {
  const one = workflow("one", async () => 1);
  const two = workflow("two", async () => 2);
  const t = await testEngine({ workflows: [one, two] });
  await t.client.start(one, undefined, { id: "x" });
  await expect(t.client.start(two, undefined, { id: "x" })).rejects.toMatchObject({
    code: "run_already_exists",
    message: expect.stringMatching(/belongs to a run of workflow "one"/),
  });
  await t.close();
});
