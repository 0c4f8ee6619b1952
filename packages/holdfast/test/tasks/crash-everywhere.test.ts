import { task, workflow } from "holdfast";
import { crashEverywhere } from "holdfast/testing";
import { expect, test } from "vitest";

class Bank {
  readonly charges = new Map<string, number>();
  calls = 0;

  charge(key: string, cents: number): string {
    this.calls += 1;
    this.charges.set(key, cents);
    return `paid ${cents}`;
  }

  reset(): void {
    this.charges.clear();
    this.calls = 0;
  }

  snapshot(): unknown {
    return [...this.charges.values()];
  }
}

const bank = new Bank();
const charge = task({ name: "charge", requires: ["bank"] }, (cents: number, t) => bank.charge(t.idempotencyKey, cents));
const flaky = task({ name: "flaky", retry: { attempts: 3, fixed: "1m" } }, (_: undefined, { attempt }) => {
  if (attempt < 3) throw new Error("not yet");
  return attempt;
});

test("a workflow with tasks survives the death of its worker, and of its task worker, at every call", async () => {
  const order = workflow("order", async (ctx, cents: number) => {
    const [paid, label] = await Promise.all([ctx.task(charge, cents), ctx.step("label", () => "L-1")]);
    const attempt = await ctx.task(flaky);
    await ctx.sleep("a day", "1 day");
    await ctx.task(charge, cents + 1);
    return { paid, label, attempt };
  });
  const report = await crashEverywhere(order, 990, { tasks: [charge, flaky], effects: bank });
  expect(report.output).toEqual({ paid: "paid 990", label: "L-1", attempt: 3 });
  expect(report.crashes).toBeGreaterThan(20);
  expect(report.repeatedSteps).toBeGreaterThan(0);
});

test("a task that is not safe to repeat is found", async () => {
  const counter = { n: 0 };
  const bump = task("bump", () => {
    counter.n += 1;
  });
  const main = workflow("main", async (ctx) => {
    await ctx.task(bump);
  });
  const effects = {
    reset: () => {
      counter.n = 0;
    },
    snapshot: () => counter.n,
  };
  await expect(crashEverywhere(main, undefined, { tasks: [bump], effects })).rejects.toMatchObject({
    code: "crash_unsafe",
    message: expect.stringContaining("Steps executed a second time: bump"),
  });
});

test("a task that may run at most once fails wherever its worker dies in it", async () => {
  const once = task({ name: "once", onCrash: "fail" }, () => "done");
  const main = workflow("main", async (ctx) => {
    const code = await ctx.task(once).catch((error: { code: string }) => error.code);
    return code === "done" || code === "task_crashed";
  });
  const report = await crashEverywhere(main, undefined, { tasks: [once] });
  expect(report).toMatchObject({ output: true, repeatedSteps: 0 });
});
