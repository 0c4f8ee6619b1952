import { expect, test } from "vitest";
import { workflow } from "../../src/define/definitions.ts";
import { NonRetryableError } from "../../src/errors/step-errors.ts";
import { testEngine } from "../../src/testing/index.ts";

test("a run whose last run attempt fails by what an earlier one has left ends as failed, whatever else was recorded by then", async () => {
  let goOn = (): void => {};
  const firstHasFailed = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const fails = workflow({ name: "fails", retry: { attempts: 2, fixed: "1s" } }, async (ctx) => {
    await Promise.all([
      ctx.step(
        "first",
        () => {
          goOn();
          throw new Error("the first has failed");
        },
        { retry: "none" },
      ),
      ctx.step(
        "second",
        async () => {
          await firstHasFailed;
          throw new NonRetryableError("the second has failed");
        },
        { retry: "none" },
      ),
      ctx.step("third", async () => {
        await firstHasFailed
          .then(() => {})
          .then(() => {})
          .then(() => {});
        return "done";
      }),
    ]);
  });
  const t = await testEngine({ workflows: [fails] });
  const run = await t.client.start(fails, undefined, { id: "f" });
  await expect(run.result({ timeout: "1 minute" })).rejects.toMatchObject({ code: "run_failed" });
  const history = await run.history();
  expect(history.map(({ type, op }) => `${type} ${op ?? ""}`.trim())).toEqual([
    "run_started",
    "step_failed first",
    "step_failed second",
    "step_completed third",
    "run_retried",
    "run_failed",
  ]);
  await t.close();
});

test("a step gets all its attempts back when the run is retried, and so does one that failed beside it", async () => {
  const attempts: string[] = [];
  const fails = workflow({ name: "fails", retry: { attempts: 3, fixed: "1s" } }, async (ctx) => {
    const fail = (name: string) =>
      ctx.step(
        name,
        ({ attempt }) => {
          attempts.push(`${name} ${attempt}`);
          throw new Error(`${name} has failed`);
        },
        { retry: { attempts: 2, fixed: "1s" } },
      );
    await Promise.all([fail("left"), fail("right")]);
  });
  const t = await testEngine({ workflows: [fails] });
  const run = await t.client.start(fails, undefined, { id: "f" });
  await expect(run.result()).rejects.toMatchObject({ code: "run_failed" });
  const each = ["left 1", "right 1", "left 2", "right 2"];
  expect(attempts).toEqual([...each, ...each, ...each]);
  await t.close();
});
