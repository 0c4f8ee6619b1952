import { HoldfastError, task, workflow } from "holdfast";
import { expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";
import { Gate, openWorld } from "../lab/world.ts";

const NEVER = new Promise<never>(() => {});

type Reason = { readonly code: string };

test("canceling the run reaches the task through its signal", async () => {
  const fleet = openFleet();
  const reasons: string[] = [];
  const long = task("long", async (_: undefined, t) => {
    t.signal.addEventListener("abort", () => reasons.push((t.signal.reason as Reason).code));
    await NEVER;
  });
  const main = workflow("main", async (ctx) => ctx.task(long));
  await fleet.worker({ workflows: [main] });
  const worker = await fleet.worker({ tasks: [long] });
  const run = await fleet.client().start(main);
  await fleet.clock.settle();
  expect(worker.activeTasks).toBe(1);
  await run.cancel("enough");
  await expect(fleet.clock.until(run.result())).rejects.toMatchObject({ code: "run_canceled" });
  await fleet.clock.settle();
  expect(reasons).toEqual(["task_canceled"]);
  expect(worker.activeTasks).toBe(0);
  expect(fleet.store.state.tasks.size).toBe(0);
});

test("a task that lost a race is stopped, and the run goes on", async () => {
  const fleet = openFleet();
  let stopped = false;
  const slow = task("slow", async (_: undefined, t) => {
    t.signal.addEventListener("abort", () => {
      stopped = true;
    });
    await NEVER;
  });
  const main = workflow("main", async (ctx) => {
    const { winner } = await ctx.race({ slow: (c) => c.task(slow), timer: (c) => c.sleep("wait", "1m") });
    await ctx.sleep("on", "1 day");
    return winner;
  });
  await fleet.worker({ workflows: [main] });
  const worker = await fleet.worker({ tasks: [slow] });
  const run = await fleet.client().start(main);
  await fleet.clock.advance("2m");
  expect({ stopped, active: worker.activeTasks, rows: fleet.store.state.tasks.size }).toEqual({
    stopped: true,
    active: 0,
    rows: 0,
  });
  expect(await fleet.clock.until(run.result())).toBe("timer");
  const types = (await run.history()).map(({ type, op }) => `${type} ${op}`);
  expect(types).toContain("op_canceled slow");
});

test("a task that nobody took is simply taken back", async () => {
  const fleet = openFleet();
  const idle = task("idle", () => 1);
  const main = workflow("main", async (ctx) => {
    await ctx.race({ idle: (c) => c.task(idle), timer: (c) => c.sleep("wait", "1m") });
    await ctx.sleep("on", "1 day");
  });
  await fleet.forgetful({ workflows: [main] });
  const run = await fleet.client().start(main);
  await fleet.clock.advance("2m");
  expect(fleet.store.state.tasks.size).toBe(0);
  await fleet.clock.until(run.result());
});

for (const began of [true, false]) {
  test(`a task with compensate ${began ? "that a worker had taken is undone" : "that nobody took is not undone"}`, async () => {
    const fleet = openFleet();
    const undone: unknown[] = [];
    const charge = task<undefined, string>("charge", async (_, t) => {
      await new Promise<void>((resolve) => t.signal.addEventListener("abort", () => resolve()));
      return "charged all the same";
    });
    const main = workflow("main", async (ctx) => {
      await ctx.task(charge, undefined, {
        compensate: (result, { outcome }) => void undone.push({ result, outcome }),
      });
    });
    await fleet.worker({ workflows: [main] });
    if (began) await fleet.worker({ tasks: [charge] });
    const run = await fleet.client().start(main);
    await fleet.clock.settle();
    await run.cancel();
    await expect(fleet.clock.until(run.result())).rejects.toMatchObject({ code: "run_canceled" });
    expect(undone).toEqual(began ? [{ result: "charged all the same", outcome: "completed" }] : []);
    expect(fleet.store.state.tasks.size).toBe(0);
  });
}

test("a task that is given up before its run knows that it exists, and that a worker has taken, is undone", async () => {
  const fleet = openFleet();
  const undone: unknown[] = [];
  const charge = task<undefined, string>("charge", async (_, t) => {
    await new Promise<void>((resolve) => t.signal.addEventListener("abort", () => resolve()));
    return "charged all the same";
  });
  const going: (() => void)[] = [];
  const main = workflow("main", async (ctx) => {
    const compensate = (result: string | undefined): void => void undone.push(result);
    await ctx.race({
      go: (c) => c.step("go", () => new Promise<void>((resolve) => void going.push(resolve))),
      charge: (c) => c.task(charge, undefined, { compensate }),
    });
    throw new Error("too late");
  });
  // The answer to the commit that creates the task is lost, and the race is over before it is repeated.
  fleet.store.fault = (moment, method) => {
    if (moment !== "after" || method !== "runs.commit") return undefined;
    fleet.store.fault = undefined;
    for (const go of going) go();
    return new HoldfastError("store_outcome_unknown", "cut off");
  };
  await fleet.worker({ workflows: [main] });
  await fleet.worker({ tasks: [charge] });
  const run = await fleet.client().start(main);
  await expect(fleet.clock.until(run.result())).rejects.toMatchObject({ code: "run_failed" });
  expect(undone).toEqual(["charged all the same"]);
});

test("a task that does not stop within half a minute is undone with an unknown outcome", async () => {
  const fleet = openFleet();
  const undone: unknown[] = [];
  const deaf = task("deaf", () => NEVER);
  const main = workflow("main", async (ctx) => {
    await ctx.task(deaf, undefined, { compensate: (result, { outcome }) => void undone.push({ result, outcome }) });
  });
  await fleet.worker({ workflows: [main] });
  await fleet.worker({ tasks: [deaf] });
  const run = await fleet.client().start(main);
  await fleet.clock.settle();
  await run.cancel();
  await fleet.clock.advance("29s");
  expect(undone).toEqual([]);
  await expect(fleet.clock.until(run.result())).rejects.toMatchObject({ code: "run_canceled" });
  expect(undone).toEqual([{ result: undefined, outcome: "unknown" }]);
});

test("a completed task is undone with its result when the run fails later", async () => {
  const fleet = openFleet();
  const undone: unknown[] = [];
  const book = task("book", () => ({ seat: 7 }));
  const main = workflow("main", async (ctx) => {
    await ctx.task(book, undefined, { compensate: (result) => void undone.push(result) });
    throw new Error("no money");
  });
  await fleet.worker({ workflows: [main], tasks: [book] });
  const run = await fleet.client().start(main);
  await expect(fleet.clock.until(run.result())).rejects.toMatchObject({ code: "run_failed" });
  expect(undone).toEqual([{ seat: 7 }]);
});

test("the end of a run takes its tasks with it", async () => {
  const fleet = openFleet();
  const side = task("side", () => NEVER);
  const main = workflow("main", async (ctx) => {
    void ctx.task(side);
    await ctx.sleep("a moment", "1s");
    return "done";
  });
  await fleet.worker({ workflows: [main] });
  const worker = await fleet.worker({ tasks: [side] });
  const run = await fleet.client().start(main);
  expect(await fleet.clock.until(run.result())).toBe("done");
  await fleet.clock.settle();
  expect({ active: worker.activeTasks, rows: fleet.store.state.tasks.size }).toEqual({ active: 0, rows: 0 });
});

for (const where of ["the process of the run", "another process"]) {
  test(`a run that is canceled while its task is being written undoes what ${where} has begun`, async () => {
    const world = openWorld();
    const [sent, arrived] = [new Gate(), new Gate()];
    const happened: string[] = [];
    const charge = task("charge", () => {
      happened.push("charged");
      return "receipt";
    });
    const main = workflow("main", async (ctx) => {
      await ctx.task(charge, undefined, { compensate: (result) => void happened.push(`undone ${result}`) });
      await ctx.sleep("a day", "1 day");
    });
    let first = true;
    const here = world.client({
      hooks: {
        "runs.commit": async ({ commits }, call) => {
          const schedules = commits.some(({ events }) => events.some(({ type }) => type === "task_scheduled"));
          if (!schedules || !first) return call();
          first = false;
          sent.open();
          const answer = await call();
          await arrived.opened;
          return answer;
        },
      },
    });
    const local = where === "the process of the run";
    await world.worker(here, { workflows: [main], ...(local ? { tasks: [charge] } : {}) });
    if (!local) await world.worker(world.client(), { tasks: [charge] });
    const run = await here.start(main);
    await world.clock.until(sent.opened);
    await run.cancel();
    await world.clock.settle();
    arrived.open();
    await expect(world.result(run)).rejects.toMatchObject({ code: "run_canceled" });
    expect(happened).toEqual(["charged", "undone receipt"]);
    expect(world.store.state.tasks.size).toBe(0);
  });
}
