import { HoldfastError, task, workflow } from "holdfast";
import { expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";

const NEVER = new Promise<never>(() => {});

/** Workers with leases: one whose client is cut off dies. */
const LEASED = { lease: "30s", tuning: {} } as const;

test("the death of its worker is not an attempt: another worker does the task", async () => {
  const fleet = openFleet();
  const attempts: number[] = [];
  let first = true;
  const job = task({ name: "job", retry: "none" }, async (_: undefined, t) => {
    attempts.push(t.attempt);
    if (!first) return "done";
    first = false;
    return NEVER as Promise<string>;
  });
  const main = workflow("main", async (ctx) => ctx.task(job));
  await fleet.worker({ workflows: [main], ...LEASED });
  const doomed = fleet.client();
  const worker = doomed.worker({ tasks: [job], ...LEASED });
  await fleet.clock.until(worker.start());
  const run = await fleet.client().start(main);
  await fleet.clock.settle();
  expect(worker.activeTasks).toBe(1);
  fleet.store.fault = cutOff(() => worker.workerId);
  await fleet.worker({ tasks: [job], ...LEASED });
  expect(await fleet.clock.until(run.result())).toBe("done");
  expect(attempts).toEqual([1, 1]);
});

test("a task that may be executed at most once fails when its worker dies", async () => {
  const fleet = openFleet();
  let calls = 0;
  const once = task({ name: "once", onCrash: "fail" }, () => {
    calls += 1;
    return NEVER;
  });
  const main = workflow("main", async (ctx) => ctx.task(once).catch((error: { code: string }) => error.code));
  await fleet.worker({ workflows: [main], ...LEASED });
  const doomed = fleet.client();
  const worker = doomed.worker({ tasks: [once], ...LEASED });
  await fleet.clock.until(worker.start());
  const run = await fleet.client().start(main);
  await fleet.clock.settle();
  fleet.store.fault = cutOff(() => worker.workerId);
  await fleet.worker({ tasks: [once], ...LEASED });
  expect(await fleet.clock.until(run.result())).toBe("task_crashed");
  expect(calls).toBe(1);
});

test("a task that may be executed at most once fails when its worker is stopped", async () => {
  const fleet = openFleet();
  let calls = 0;
  const once = task({ name: "once", onCrash: "fail" }, () => {
    calls += 1;
    return NEVER;
  });
  const main = workflow("main", async (ctx) => ctx.task(once).catch((error: { code: string }) => error.code));
  await fleet.worker({ workflows: [main], ...LEASED });
  const worker = await fleet.worker({ tasks: [once], ...LEASED });
  const run = await fleet.client().start(main);
  await fleet.clock.settle();
  await fleet.clock.until(worker.stop());
  await fleet.worker({ tasks: [once], ...LEASED });
  expect(await fleet.clock.until(run.result())).toBe("task_crashed");
  expect(calls).toBe(1);
});

test("a worker that drains lets its tasks finish and takes no new ones", async () => {
  const fleet = openFleet();
  const release: (() => void)[] = [];
  const job = task("job", (n: number) => new Promise<number>((resolve) => release.push(() => resolve(n))));
  const main = workflow("main", async (ctx, n: number) => ctx.task(job, n));
  await fleet.worker({ workflows: [main] });
  const worker = await fleet.worker({ tasks: [job] });
  const client = fleet.client();
  const first = await client.start(main, 1);
  await fleet.clock.settle();
  const drained = worker.drain();
  const second = await client.start(main, 2);
  await fleet.clock.settle();
  for (const done of release.splice(0)) done();
  await fleet.clock.until(drained);
  expect(await fleet.clock.until(first.result())).toBe(1);
  expect(await second.status()).toBe("waiting");
  await fleet.worker({ tasks: [job] });
  await fleet.clock.settle();
  for (const done of release.splice(0)) done();
  expect(await fleet.clock.until(second.result())).toBe(2);
});

test("a worker that is stopped gives its tasks back at once, without counting an attempt", async () => {
  const fleet = openFleet();
  const attempts: number[] = [];
  let stuck = true;
  const job = task("job", async (_: undefined, t) => {
    attempts.push(t.attempt);
    return stuck ? (NEVER as Promise<string>) : "done";
  });
  const main = workflow("main", async (ctx) => ctx.task(job));
  await fleet.worker({ workflows: [main] });
  const worker = await fleet.worker({ tasks: [job] });
  const run = await fleet.client().start(main);
  await fleet.clock.settle();
  await fleet.clock.until(worker.stop());
  stuck = false;
  await fleet.worker({ tasks: [job] });
  expect(await fleet.clock.until(run.result())).toBe("done");
  expect(attempts).toEqual([1, 1]);
});

test("the run may be taken over by another worker while its task runs elsewhere", async () => {
  const fleet = openFleet();
  const release: (() => void)[] = [];
  const job = task("job", () => new Promise<string>((resolve) => release.push(() => resolve("done"))));
  const main = workflow("main", async (ctx) => {
    const before = await ctx.step("before", () => 1);
    return `${await ctx.task(job)} ${before}`;
  });
  const holder = await fleet.worker({ workflows: [main], cacheSize: 0 });
  await fleet.worker({ tasks: [job] });
  const run = await fleet.client().start(main);
  await fleet.clock.settle();
  await fleet.clock.until(holder.stop());
  await fleet.worker({ workflows: [main] });
  for (const done of release) done();
  expect(await fleet.clock.until(run.result())).toBe("done 1");
});

test("a late answer to an earlier attempt does not stop the next one", async () => {
  const fleet = openFleet();
  let calls = 0;
  const job = task({ name: "job", retry: { attempts: 2, fixed: "1s" } }, async (_: undefined, t) => {
    calls += 1;
    if (t.attempt === 1) {
      void t.heartbeat("half");
      throw new Error("not yet");
    }
    await new Promise<void>((resolve) => void fleet.clock.setTimer(60_000, resolve));
    return "done";
  });
  const main = workflow("main", async (ctx) => ctx.task(job));
  // The first report reaches the store only when the second attempt runs.
  fleet.store.fault = (moment, method) =>
    moment === "before" && method === "tasks.beat" && calls < 2
      ? new HoldfastError("store_unavailable", "not now")
      : undefined;
  await fleet.worker({ workflows: [main] });
  await fleet.worker({ tasks: [job] });
  const run = await fleet.client().start(main);
  expect(await fleet.clock.until(run.result())).toBe("done");
  expect(calls).toBe(2);
});

test("a worker that gives a suspect back, because its lease has run out, takes it up later", async () => {
  const fleet = openFleet();
  const job = task("job", () => "done");
  const main = workflow("main", async (ctx) => ctx.task(job));
  await fleet.worker({ workflows: [main] });
  const run = await fleet.client().start(main);
  await fleet.clock.settle();
  for (const one of fleet.store.state.tasks.values()) one.suspect = true;
  // Nothing is heard from the store until the lease has run out, and then the answer to the claim.
  let cut = true;
  const silent = ["workers.heartbeat", "workers.sweep", "tasks.claim"];
  fleet.store.fault = (moment, method, params) => {
    if (!cut || !silent.includes(method) || (method === "tasks.claim" && !(params as { solo: boolean }).solo))
      return undefined;
    const lost = method === "tasks.claim" ? moment === "after" : moment === "before";
    return lost ? new HoldfastError("store_outcome_unknown", "not now") : undefined;
  };
  await fleet.worker({ tasks: [job], ...LEASED });
  await fleet.clock.advance("40s");
  expect([...fleet.store.state.tasks.values()]).toMatchObject([{ status: "held", suspect: true }]);
  cut = false;
  expect(await fleet.clock.until(run.result())).toBe("done");
});

test("a suspect is not taken while the answer to a claim of runs is still to come", async () => {
  const fleet = openFleet();
  const happened: string[] = [];
  const job = task("job", async () => {
    happened.push("task begins");
    await new Promise<void>((resolve) => void fleet.clock.setTimer(60_000, resolve));
    happened.push("task ends");
  });
  const main = workflow("main", async (ctx) => void (await ctx.task(job)));
  const beside = workflow("beside", async (ctx) => ctx.step("beside", () => void happened.push("step")));
  await fleet.worker({ workflows: [main] });
  const worker = await fleet.worker({ workflows: [beside], tasks: [job], ...LEASED });
  let lost = false;
  fleet.store.fault = (moment, method, params) => {
    if (method === "tasks.claim") for (const one of fleet.store.state.tasks.values()) one.suspect = true;
    const isIts = method === "runs.claim" && (params as { workerId: string }).workerId === worker.workerId;
    if (lost || moment !== "after" || !isIts) return undefined;
    lost = true;
    return new HoldfastError("store_outcome_unknown", "not now");
  };
  const client = fleet.client();
  const runs = [await client.start(beside), await client.start(main)];
  for (const run of runs) await fleet.clock.until(run.result());
  expect(happened).toEqual(["step", "task begins", "task ends"]);
});

/** No call that concerns that worker reaches the store any more. */
function cutOff(workerId: () => string) {
  const dead = workerId();
  return (moment: "before" | "after", _method: string, params: unknown): Error | undefined =>
    moment === "before" && JSON.stringify(params ?? null)?.includes(dead)
      ? Object.assign(new Error("cut off"), { code: "store_unavailable" })
      : undefined;
}
