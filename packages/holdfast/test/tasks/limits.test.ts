import { task, workflow } from "holdfast";
import { expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";

const NEVER = new Promise<never>(() => {});

type Failure = { readonly code: string; readonly attempts?: number };
const codeOf = (error: Failure): string => error.code;

test("an attempt that takes longer than its timeout is aborted and fails", async () => {
  const fleet = openFleet();
  const aborted: unknown[] = [];
  const slow = task({ name: "slow", timeout: "30s", retry: { attempts: 2, fixed: "1s" } }, async (_: undefined, t) => {
    t.signal.addEventListener("abort", () => aborted.push((t.signal.reason as Failure).code));
    await NEVER;
  });
  const main = workflow("main", async (ctx) => ctx.task(slow).catch(codeOf));
  await fleet.worker({ workflows: [main] });
  await fleet.worker({ tasks: [slow] });
  const run = await fleet.client().start(main);
  expect(await fleet.clock.until(run.result())).toBe("task_timeout");
  expect(aborted).toEqual(["task_timeout", "task_timeout"]);
});

test("an attempt that is silent for too long fails; one that reports does not", async () => {
  const fleet = openFleet();
  const quiet = task({ name: "quiet", heartbeat: "10s", retry: "none" }, () => NEVER);
  const loud = task({ name: "loud", heartbeat: "10s", retry: "none" }, async (_: undefined, t) => {
    for (let i = 0; i < 12; i++) {
      await new Promise<void>((resolve) => void fleet.clock.setTimer(5_000, resolve));
      await t.heartbeat(i);
    }
    return "done";
  });
  const main = workflow("main", async (ctx) => [await ctx.task(quiet).catch(codeOf), await ctx.task(loud)]);
  await fleet.worker({ workflows: [main] });
  await fleet.worker({ tasks: [quiet, loud] });
  const run = await fleet.client().start(main);
  expect(await fleet.clock.until(run.result())).toEqual(["task_heartbeat_timeout", "done"]);
});

test("a task that nobody takes in time fails for good", async () => {
  const fleet = openFleet();
  const lonely = task({ name: "lonely", startTimeout: "1m", retry: { attempts: 5 } }, () => 1);
  const main = workflow("main", async (ctx) => ctx.task(lonely).catch(codeOf));
  await fleet.worker({ workflows: [main] });
  const run = await fleet.client().start(main);
  expect(await fleet.clock.until(run.result())).toBe("task_start_timeout");
});

test("a task that nobody took in time is not undone", async () => {
  const fleet = openFleet();
  const undone: unknown[] = [];
  const lonely = task({ name: "lonely", startTimeout: "1m" }, () => 1);
  const late = task({ name: "late", totalTimeout: "1m" }, () => 1);
  const main = workflow("main", async (ctx) => {
    const options = { compensate: (_: unknown, { outcome }: { outcome: string }) => void undone.push(outcome) };
    await Promise.allSettled([ctx.task(lonely, undefined, options), ctx.task(late, undefined, options)]);
    throw new Error("nobody there");
  });
  await fleet.worker({ workflows: [main] });
  const run = await fleet.client().start(main);
  await expect(fleet.clock.until(run.result())).rejects.toMatchObject({ code: "run_failed" });
  expect(undone).toEqual([]);
});

test("all attempts together are limited by the total timeout", async () => {
  const fleet = openFleet();
  let calls = 0;
  const stubborn = task({ name: "stubborn", totalTimeout: "5m", retry: { attempts: 1000, fixed: "1m" } }, () => {
    calls += 1;
    throw new Error("again");
  });
  const main = workflow("main", async (ctx) => ctx.task(stubborn).catch(codeOf));
  await fleet.worker({ workflows: [main] });
  await fleet.worker({ tasks: [stubborn] });
  const run = await fleet.client().start(main);
  expect(await fleet.clock.until(run.result())).toBe("task_total_timeout");
  expect(calls).toBe(5);
});

test("an attempt that was due and never began is not counted", async () => {
  const fleet = openFleet();
  const lonely = task({ name: "lonely", startTimeout: "1m" }, () => 1);
  const stubborn = task({ name: "stubborn", totalTimeout: "150s", retry: { attempts: 1000, fixed: "1m" } }, () => {
    throw new Error("again");
  });
  const attemptsOf = ({ attempts }: Failure): number | undefined => attempts;
  const main = workflow("main", async (ctx) => [
    await ctx.task(lonely).catch(attemptsOf),
    await ctx.task(stubborn).catch(attemptsOf),
  ]);
  await fleet.worker({ workflows: [main] });
  await fleet.worker({ tasks: [stubborn] });
  const run = await fleet.client().start(main);
  expect(await fleet.clock.until(run.result())).toEqual([0, 3]);
});
