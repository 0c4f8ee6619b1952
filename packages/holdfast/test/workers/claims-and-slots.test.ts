import { HoldfastError, signal, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { Gate, Line, openWorld } from "../lab/world.ts";

const go = signal<number>("go");

describe("a run that is let go of", () => {
  test("and claimed again before the answer to that has come, goes on from where it stood as soon as it comes", async () => {
    const world = openWorld();
    const answer = new Gate();
    let steps = 0;
    const listen = workflow("listen", async (ctx) => {
      await ctx.step("before", () => ++steps);
      return ctx.receive(go);
    });
    let held = false;
    const client = world.client({
      hooks: {
        "runs.commit": async (params, call) => {
          const result = await call();
          if (!held && params.commits.some(({ transition }) => transition.type === "suspend")) {
            held = true;
            await answer.opened;
          }
          return result;
        },
      },
    });
    const worker = await world.worker(client, { workflows: [listen] });
    const run = await client.start(listen);
    await world.clock.settle();
    expect(world.row(run)).toMatchObject({ status: "waiting", heldBy: null });
    await run.signal(go, 7);
    await world.clock.settle();
    expect(world.row(run)).toMatchObject({ status: "running", heldBy: worker.workerId, epoch: 2 });
    answer.open();
    await world.clock.settle();
    expect(world.row(run)).toMatchObject({ status: "completed", epoch: 2 });
    expect(await world.result(run)).toBe(7);
    expect(steps).toBe(1);
    expect(worker.activeRuns).toBe(0);
  });

  test("while its code breaks a rule, is parked when it is woken", async () => {
    const world = openWorld();
    const refusals: unknown[] = [];
    let breakRule: (() => void) | undefined;
    const careless = workflow("careless", async (ctx) => {
      const stray = new Promise<void>((resolve) => {
        breakRule ??= resolve;
      });
      void stray.then(() => ctx.step("late", () => 1)).catch((error) => refusals.push(error));
      return ctx.receive(go);
    });
    const client = world.client({
      hooks: {
        "runs.commit": (params, call) => {
          if (params.commits.some(({ transition }) => transition.type === "suspend")) breakRule?.();
          return call();
        },
      },
    });
    const worker = await world.worker(client, { workflows: [careless] });
    const run = await client.start(careless);
    await world.clock.settle();
    expect(refusals).toMatchObject([{ code: "outside_turn" }]);
    await run.signal(go, 5);
    await world.clock.settle();
    expect(await run.describe()).toMatchObject({ status: "parked", error: { code: "outside_turn" } });
    expect(worker.activeRuns).toBe(0);
  });
});

describe("the slots of a worker", () => {
  test("are filled again when a start took the last one just as a sleeping run became due", async () => {
    const world = openWorld();
    const sleeper = workflow("sleeper", async (ctx) => {
      await ctx.sleep("nap", "7s");
      return "woke";
    });
    const quick = workflow("quick", (ctx) => ctx.step("only", () => "quick"));
    // Without hints, and with a look only once a minute, nothing but the worker's own memory can bring the sleeper back.
    const client = world.client({ deaf: true });
    const workflows = [sleeper, quick];
    await world.worker(client, { workflows, concurrency: 1, tuning: { claimFallbackMs: 60_000 } });
    const sleeping = await client.start(sleeper);
    const started: ReturnType<typeof client.start>[] = [];
    const { clock } = world;
    const immediate = clock.immediate.bind(clock);
    // When the sleeper becomes due, the worker is about to claim, and another run is started before it does.
    clock.setTimer(6_999, () => {
      clock.immediate = (callback) => {
        clock.immediate = immediate;
        started.push(client.start(quick));
        immediate(callback);
      };
    });
    expect(await world.result(sleeping)).toBe("woke");
    expect(clock.monotonic()).toBe(7_000);
    expect(started).toHaveLength(1);
    expect(await (await started[0])?.status()).toBe("completed");
  });

  test("are not overdrawn by a start beside a claim that is on its way", async () => {
    const world = openWorld();
    let running = 0;
    let runningMost = 0;
    const slow = workflow("slow", async (ctx, n: number) => {
      await ctx.step("work", async () => {
        running += 1;
        runningMost = Math.max(runningMost, running);
        await world.later(1_000);
        running -= 1;
      });
      return n;
    });
    const beside: ReturnType<typeof client.start<typeof slow>>[] = [];
    let armed = false;
    const client = world.client({
      hooks: {
        "runs.claim": (_params, call) => {
          const answer = call();
          if (armed) beside.push(client.start(slow, 2));
          armed = false;
          return answer;
        },
      },
    });
    await world.worker(client, { workflows: [slow], concurrency: 1 });
    await world.clock.settle();
    armed = true;
    const claimed = await world.client().start(slow, 1);
    expect(await world.result(claimed)).toBe(1);
    const [started] = await Promise.all(beside);
    expect(started && (await world.result(started))).toBe(2);
    expect(runningMost).toBe(1);
  });
});

describe("a worker that has lost a run while it read its history, and claimed it again", () => {
  test("goes on with the new claim, whenever the old answer comes", async () => {
    const world = openWorld();
    const line = new Line("workers.heartbeat");
    const oldAnswer = new Gate();
    let reads = 0;
    let steps = 0;
    const listen = workflow("listen", async (ctx) => {
      await ctx.step("before", () => ++steps);
      return ctx.receive(go);
    });
    const client = world.client({
      hooks: {
        ...line.hooks,
        "histories.read": async (_params, call) => {
          reads += 1;
          if (reads === 1) {
            await oldAnswer.opened;
            return call();
          }
          // The old answer comes in the middle of the new read.
          world.clock.setTimer(10, oldAnswer.open);
          const answer = await call();
          await world.later(50);
          return answer;
        },
      },
    });
    const worker = await world.worker(client, { workflows: [listen], lease: "5s", cacheSize: 0 });
    await world.worker(world.client(), { workflows: [], lease: "5s" });
    const run = await client.start(listen);
    await world.clock.advance("1s");
    const firstId = worker.workerId;
    line.down = true;
    await run.signal(go, 1);
    await world.clock.advance("5s");
    line.down = false;
    await world.clock.advance("1s");
    expect(worker.workerId).not.toBe(firstId);
    expect(reads).toBe(2);
    expect(await run.describe()).toMatchObject({ status: "completed", output: 1 });
    expect(steps).toBe(1);
    expect(worker.activeRuns).toBe(0);
  });
});

test("a late answer to a repeated start does not bring back a run that was claimed and has left since", async () => {
  const world = openWorld();
  const [answer, stepEnds] = [new Gate(), new Gate()];
  let steps = 0;
  const listen = workflow("listen", async (ctx) => {
    await ctx.step("once", async () => {
      steps += 1;
      await stepEnds.opened;
    });
    return ctx.receive(go);
  });
  let starts = 0;
  const client = world.client({
    hooks: {
      "runs.start": async (params, call) => {
        starts += 1;
        if (starts === 1) {
          // The store does not hold it, for whatever reason, and the answer is lost.
          await world.store.runs.start({ ...params, holdBy: null });
          throw new HoldfastError("store_outcome_unknown", "the connection broke");
        }
        // By now the worker has claimed it, and it is held as it would be after a start.
        expect(steps).toBe(1);
        const result = await call();
        expect(result.outcomes[0]?.run).toMatchObject({ heldBy: worker.workerId, epoch: 1 });
        await answer.opened;
        return result;
      },
    },
  });
  const worker = await world.worker(client, { workflows: [listen] });
  const started = client.start(listen, undefined, { id: "r" });
  await world.clock.advance("5s");
  stepEnds.open();
  await world.clock.advance("1s");
  expect([...world.store.state.runs.values()]).toMatchObject([{ id: "r", status: "waiting", epoch: 1 }]);
  answer.open();
  const run = await world.clock.until(started);
  await world.clock.settle();
  expect(worker.activeRuns).toBe(0);
  await run.signal(go, 7);
  expect(await world.result(run)).toBe(7);
  expect([steps, starts]).toEqual([1, 2]);
});
