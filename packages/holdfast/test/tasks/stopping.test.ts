import { task, workflow } from "holdfast";
import { expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";

interface Failure {
  readonly code: string;
  readonly message: string;
}

const NEVER = new Promise<never>(() => {});

test("a worker that stops says itself that a task with onCrash fail has failed", async () => {
  const fleet = openFleet();
  let calls = 0;
  const pay = task({ name: "pay", onCrash: "fail" }, () => {
    calls += 1;
    return NEVER;
  });
  const main = workflow("main", async (ctx) => ctx.task(pay).catch(({ code, message }: Failure) => [code, message]));
  await fleet.worker({ workflows: [main] });
  const worker = await fleet.worker({ tasks: [pay], name: "till" });
  const run = await fleet.client().start(main);
  await fleet.clock.settle();
  await fleet.clock.until(worker.stop());
  await fleet.worker({ tasks: [pay] });
  await fleet.clock.settle();
  expect(await run.status()).toBe("completed");
  expect(await run.result()).toEqual([
    "task_crashed",
    'Worker "till" was stopped during attempt 1 of task "pay"; whether it took effect is unknown.',
  ]);
  expect(calls).toBe(1);
});

test("a worker that stops returns its other tasks, which another one begins again", async () => {
  const fleet = openFleet();
  const slow = task("slow", () => NEVER);
  const quick = task("slow", (_: undefined, t) => t.attempt);
  const main = workflow("main", async (ctx) => ctx.task(slow));
  await fleet.worker({ workflows: [main] });
  const worker = await fleet.worker({ tasks: [slow] });
  const run = await fleet.client().start(main);
  await fleet.clock.settle();
  await fleet.clock.until(worker.stop());
  await fleet.worker({ tasks: [quick] });
  expect(await fleet.clock.until(run.result())).toBe(1);
});

test("a run that waits for a task that it has given up learns at once that the worker has stopped", async () => {
  const fleet = openFleet();
  const undone: string[] = [];
  const deaf = task("deaf", () => NEVER);
  const main = workflow("main", async (ctx) => {
    await ctx.task(deaf, undefined, { compensate: (_result, { outcome }) => void undone.push(outcome) });
  });
  await fleet.worker({ workflows: [main] });
  const worker = await fleet.worker({ tasks: [deaf] });
  const run = await fleet.client().start(main);
  await fleet.clock.settle();
  await run.cancel();
  await fleet.clock.settle();
  await fleet.clock.until(worker.stop());
  await fleet.clock.settle();
  expect(await run.status()).toBe("canceled");
  expect(undone).toEqual(["unknown"]);
});

/** Why the signal of a task was aborted, and the task's worker is in this process or in another. */
const WAYS = {
  "the run is canceled": ["task_canceled", "cancel"],
  "the run is terminated": ["task_canceled", "terminate"],
  "its total time is over": ["task_total_timeout", "wait"],
  "its worker stops": ["lease_lost", "stop"],
} as const;

for (const together of [true, false])
  for (const [title, [code, way]] of Object.entries(WAYS))
    test(`when ${title}, its signal says ${code}, also if its worker is in ${together ? "the process of the run" : "another process"}`, async () => {
      const fleet = openFleet();
      const reasons: string[] = [];
      const job = task({ name: "job", totalTimeout: "1m" }, (_: undefined, t) => {
        t.signal.addEventListener("abort", () => reasons.push((t.signal.reason as Failure).code));
        return NEVER;
      });
      const main = workflow("main", async (ctx) => ctx.task(job));
      const one = await fleet.worker({ workflows: [main], tasks: together ? [job] : [] });
      const worker = together ? one : await fleet.worker({ tasks: [job] });
      const run = await fleet.client().start(main);
      await fleet.clock.settle();
      if (way === "cancel") await run.cancel();
      else if (way === "terminate") await run.terminate();
      else if (way === "stop") await fleet.clock.until(worker.stop());
      else await fleet.clock.advance("61s");
      await fleet.clock.settle();
      expect(reasons).toEqual([code]);
    });
