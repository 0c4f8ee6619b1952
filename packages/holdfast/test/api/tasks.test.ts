// What the API page promises about tasks, as programs that compile without a cast and run.
import { connect, silentLogger, type TaskView, task, workflow } from "holdfast";
import { testEngine } from "holdfast/testing";
import { expect, expectTypeOf, onTestFinished, test } from "vitest";
import { z } from "zod";

test("what a task takes and returns is inferred, with and without schemas", async () => {
  const plain = task("plain", async (input: { n: number }) => ({ twice: input.n * 2, at: new Date(0) }));
  const checked = task(
    { name: "checked", input: z.object({ n: z.coerce.number() }), output: z.object({ n: z.number() }) },
    async ({ n }) => ({ n: n + 1 }),
  );
  const nothing = task("nothing", () => 5);
  const main = workflow("main", async (ctx) => {
    const one = await ctx.task(plain, { n: 1 });
    expectTypeOf(one).toEqualTypeOf<{ twice: number; at: Date }>();
    const two = await ctx.task(checked, { n: "41" });
    expectTypeOf(two).toEqualTypeOf<{ n: number }>();
    const five = await ctx.task(nothing);
    expectTypeOf(five).toEqualTypeOf<number>();
    return { one, two, five };
  });
  const t = await testEngine({ workflows: [main], tasks: [plain, checked, nothing] });
  onTestFinished(() => t.close());
  expect(await t.run(main)).toEqual({ one: { twice: 2, at: new Date(0) }, two: { n: 42 }, five: 5 });
});

test("an input that its schema refuses fails the call, and nothing is scheduled", async () => {
  const checked = task({ name: "checked", input: z.object({ n: z.number() }) }, ({ n }) => n);
  const main = workflow("main", async (ctx) => {
    const wrong = { n: "one" } as unknown as { n: number };
    try {
      return await ctx.task(checked, wrong);
    } catch (error) {
      return (error as { code: string }).code;
    }
  });
  const t = await testEngine({ workflows: [main], tasks: [checked] });
  onTestFinished(() => t.close());
  expect(await t.run(main)).toBe("invalid_input");
  expect(t.store.state.tasks.size).toBe(0);
});

test("a result that its schema refuses fails the task, without another attempt", async () => {
  let calls = 0;
  const checked = task({ name: "checked", output: z.object({ n: z.number() }) }, () => {
    calls += 1;
    return { n: "one" } as unknown as { n: number };
  });
  const main = workflow("main", async (ctx) => ctx.task(checked).catch((error: Error) => error.message));
  const t = await testEngine({ workflows: [main], tasks: [checked] });
  onTestFinished(() => t.close());
  expect(await t.run(main)).toContain('The result of task "checked" is not valid');
  expect(calls).toBe(1);
});

test("t.mock answers for a task", async () => {
  const mail = task({ name: "mail", requires: ["smtp"] }, async (_to: string): Promise<{ id: string }> => {
    throw new Error("no mail server here");
  });
  const main = workflow("main", async (ctx) => (await ctx.task(mail, "ann")).id);
  const t = await testEngine({ workflows: [main], tasks: [mail] });
  onTestFinished(() => t.close());
  t.mock(mail, (to, { attempt }) => ({ id: `to ${to}, attempt ${attempt}` }));
  expect(await t.run(main)).toBe("to ann, attempt 1");
});

test("the four limits, the labels and the token have their place in the list", async () => {
  const hf = await connect("memory:", { logger: silentLogger });
  onTestFinished(() => hf.close());
  const approval = task<{ order: string }, { by: string }>({ name: "approval", external: true });
  const main = workflow("main", async (ctx) => (await ctx.task(approval, { order: "o-1" })).by);
  await hf.worker({ workflows: [main] }).start();
  const run = await hf.start(main);
  let found: TaskView | undefined;
  while (!found) [found] = (await hf.tasks.list({ status: "external", runId: run.runId })).tasks;
  expect(found).toMatchObject({ name: "approval", queue: "default", status: "external", attempt: 1 });
  expect(await hf.tasks.heartbeat(found.token as string, { seen: true })).toEqual({ canceled: false });
  expect((await hf.tasks.get(found.token as string)).lastDetails).toEqual({ seen: true });
  await hf.tasks.complete(found.token as string, { by: "ann" });
  expect(await run.result()).toBe("ann");
});

test("bad arguments are refused with what is wrong and what to do", async () => {
  const hf = await connect("memory:", { logger: silentLogger });
  onTestFinished(() => hf.close());
  const external = task<undefined, string>({ name: "e", external: true });
  expect(() => task({ name: "t", timeout: "0s" }, () => 1)).toThrow("timeout is");
  expect(() => task({ name: "t", external: true }, () => 1)).toThrow("an external task has no function");
  expect(() => hf.worker({ tasks: [external] })).toThrow("no worker executes it");
  const one = task("one", () => 1);
  expect(() => hf.worker({ tasks: [one, one] })).toThrow('two tasks with the name "one"');
  expect(() => hf.worker({ tasks: [one], labels: ["a", ""] })).toThrow("label");
  await expect(hf.tasks.list({ status: "done" as "dead" })).rejects.toThrow("status");
});
