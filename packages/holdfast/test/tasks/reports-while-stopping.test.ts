import { HoldfastError, task, workflow } from "holdfast";
import type { StoreHooks } from "holdfast/adapter";
import { expect, test } from "vitest";
import { openWorld } from "../lab/world.ts";

const NEVER = new Promise<never>(() => {});

/** Several heartbeats pass while reports cannot be sent, and less than `drainTimeout`. */
const OUTAGE = "20s";
const TIMES = { lease: "6s", drainTimeout: "60s", tuning: {} } as const;

/** A connection on which results do not arrive while it is down. */
class Reports {
  down = false;
  readonly hooks: StoreHooks = {
    "tasks.finish": async ({ finishes }, call) => {
      if (this.down && finishes.some(({ result }) => result.type === "completed"))
        throw new HoldfastError("store_unavailable", "not now");
      return call();
    },
  };
}

test("a worker that stops reports a result that is on its way, and does not give the task back meanwhile", async () => {
  const world = openWorld();
  let calls = 0;
  const once = task({ name: "once", onCrash: "fail" }, () => {
    calls += 1;
    return "done";
  });
  const main = workflow("main", async (ctx) => ctx.task(once).catch((error: { code: string }) => error.code));
  await world.worker(world.client(), { workflows: [main], ...TIMES });
  const reports = new Reports();
  reports.down = true;
  const worker = await world.worker(world.client({ hooks: reports.hooks }), { tasks: [once], ...TIMES });
  const run = await world.client().start(main);
  await world.clock.settle();
  const stopped = worker.stop();
  await world.clock.advance(OUTAGE);
  reports.down = false;
  await world.clock.until(stopped);
  await world.worker(world.client(), { tasks: [once], ...TIMES });
  expect(await world.result(run)).toBe("done");
  expect(calls).toBe(1);
});

test("a worker that stops while a report is on its way does not give back what may be executed only once", async () => {
  const world = openWorld();
  let calls = 0;
  const job = task("job", () => "done");
  const once = task({ name: "once", onCrash: "fail" }, () => {
    calls += 1;
    return calls === 1 ? NEVER : "again";
  });
  const quick = workflow("quick", async (ctx) => ctx.task(job));
  const main = workflow("main", async (ctx) => ctx.task(once).catch((error: { code: string }) => error.code));
  await world.worker(world.client(), { workflows: [quick, main], ...TIMES });
  const reports = new Reports();
  const worker = await world.worker(world.client({ hooks: reports.hooks }), { tasks: [job, once], ...TIMES });
  const run = await world.client().start(main);
  await world.clock.settle();
  reports.down = true;
  const other = await world.client().start(quick);
  await world.clock.settle();
  const stopped = worker.stop();
  await world.clock.advance(OUTAGE);
  reports.down = false;
  await world.clock.until(stopped);
  await world.worker(world.client(), { tasks: [job, once], ...TIMES });
  expect(await world.result(run)).toBe("task_crashed");
  expect(await world.result(other)).toBe("done");
  expect(calls).toBe(1);
});
