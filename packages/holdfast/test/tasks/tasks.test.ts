import { testEngine } from "holdfast/testing";
import { expect, test } from "vitest";
import { task, workflow } from "../../src/index.ts";

const double = task("double", async (input: { n: number }) => ({ n: input.n * 2 }));

test("a workflow gets the result of a task", async () => {
  const order = workflow("order", async (ctx) => {
    const { n } = await ctx.task(double, { n: 21 });
    return n;
  });
  const t = await testEngine({ workflows: [order], tasks: [double] });
  expect(await t.run(order)).toBe(42);
  const history = await t.client.get((await t.client.list()).runs[0]?.id as string).history();
  expect(history.map(({ type }) => type)).toEqual(["run_started", "task_scheduled", "task_completed", "run_completed"]);
  expect(t.store.state.tasks.size).toBe(0);
  await t.close();
});

test("a failed attempt is tried again, and the failure of the last one reaches the code", async () => {
  const attempts: number[] = [];
  const shaky = task({ name: "shaky", retry: { attempts: 3, fixed: "1m" } }, async (n: number, { attempt }) => {
    attempts.push(attempt);
    if (attempt < n) throw new Error(`attempt ${attempt}`);
    return attempt;
  });
  const both = workflow("both", async (ctx) => {
    const ok = await ctx.task(shaky, 2);
    const bad = await ctx.task(shaky, 9).catch((error: Error & { code: string }) => [error.code, error.message]);
    return { ok, bad };
  });
  const t = await testEngine({ workflows: [both], tasks: [shaky] });
  expect(await t.run(both)).toEqual({ ok: 2, bad: ["task_failed", "attempt 3"] });
  expect(attempts).toEqual([1, 2, 1, 2, 3]);
  await t.close();
});
