import { HoldfastError, task, workflow } from "holdfast";
import type { StoreHooks, StoreMethod } from "holdfast/adapter";
import { expect, test } from "vitest";
import { openWorld } from "../lab/world.ts";

/** The answers to the first calls of these kinds are lost: they took effect, and nobody knows. */
function losing(methods: readonly StoreMethod[], times = 1): StoreHooks {
  const left = new Map(methods.map((method) => [method, times]));
  const hook =
    (method: StoreMethod) =>
    async (_params: unknown, call: () => Promise<unknown>): Promise<unknown> => {
      const answer = await call();
      const more = left.get(method) ?? 0;
      if (more === 0) return answer;
      left.set(method, more - 1);
      throw new HoldfastError("store_outcome_unknown", "the answer was lost");
    };
  return Object.fromEntries(methods.map((method) => [method, hook(method)])) as StoreHooks;
}

const CALLS: readonly StoreMethod[] = ["runs.commit", "tasks.claim", "tasks.finish", "tasks.beat", "runs.claim"];

for (const together of [true, false]) {
  const where = together ? "one process" : "two processes";
  test.each(CALLS)(`in ${where}, a task is done once although answers to %s are lost`, async (method) => {
    const world = openWorld();
    let calls = 0;
    const job = task("job", async (n: number, t) => {
      calls += 1;
      await t.heartbeat(n);
      return n + 1;
    });
    const main = workflow("main", async (ctx) => {
      const one = await ctx.task(job, 1);
      const [two, three] = await Promise.all([ctx.task(job, one), ctx.task(job, one + 1)]);
      return [one, two, three];
    });
    const hooks = losing([method], 4);
    const client = world.client({ hooks });
    await world.worker(client, { workflows: [main], ...(together ? { tasks: [job] } : {}) });
    if (!together) await world.worker(world.client({ hooks: losing([method], 4) }), { tasks: [job] });
    const run = await client.start(main);
    expect(await world.clock.until(run.result())).toEqual([2, 3, 4]);
    expect(calls).toBe(3);
    expect(world.store.state.tasks.size).toBe(0);
  });
}

test("the result of a task of its own process survives the run that was lost before its commit", async () => {
  const world = openWorld();
  let calls = 0;
  const job = task("job", () => {
    calls += 1;
    return "done";
  });
  const main = workflow("main", async (ctx) => ctx.task(job));
  let armed = false;
  const client = world.client({
    hooks: {
      "runs.commit": async (params, call) => {
        const ends = params.commits.some(({ transition }) => transition.type === "end");
        if (ends && !armed) {
          armed = true;
          // An operator's action between the result and its commit: the fence refuses the holder.
          for (const { runId, namespace } of params.commits) {
            const run = world.store.state.runs.get(runId);
            if (run) {
              await world.store.runs.releaseIfHeld({
                namespace,
                workerId: run.heldBy as string,
                runs: [{ runId, epoch: run.epoch }],
              });
            }
          }
        }
        return call();
      },
    },
  });
  await world.worker(client, { workflows: [main], tasks: [job] });
  const run = await client.start(main);
  expect(await world.clock.until(run.result())).toBe("done");
  expect({ armed, calls, rows: world.store.state.tasks.size }).toEqual({ armed: true, calls: 1, rows: 0 });
});

test("a task that is about to start here is not given back while the answer to its commit is awaited", async () => {
  const world = openWorld();
  let calls = 0;
  const job = task({ name: "job", onCrash: "fail" }, () => {
    calls += 1;
    return "done";
  });
  const main = workflow("main", async (ctx) => ctx.task(job));
  let waits = true;
  const client = world.client({
    hooks: {
      "runs.commit": async (_params, call) => {
        const answer = await call();
        if (waits) await world.later(60_000);
        waits = false;
        return answer;
      },
    },
  });
  await world.worker(client, { workflows: [main], tasks: [job], lease: "6s", tuning: {} });
  const run = await client.start(main);
  expect(await world.clock.until(run.result())).toBe("done");
  expect({ calls, reports: world.store.calls["tasks.finish"] ?? 0 }).toEqual({ calls: 1, reports: 0 });
});

test("a task whose result comes after its run has been suspended goes through the inbox", async () => {
  const world = openWorld();
  const release: (() => void)[] = [];
  const job = task("job", () => new Promise<string>((resolve) => release.push(() => resolve("late"))));
  const main = workflow("main", async (ctx) => ctx.task(job));
  const client = world.client();
  await world.worker(client, { workflows: [main], tasks: [job] });
  const run = await client.start(main);
  await world.clock.advance("1m");
  expect(await run.status()).toBe("waiting");
  for (const done of release) done();
  expect(await world.clock.until(run.result())).toBe("late");
  expect(world.store.calls["tasks.finish"]).toBe(1);
});

test("a token's completion whose answer is lost is known to have happened when it is repeated", async () => {
  const world = openWorld();
  const approval = task<undefined, string>({ name: "approval", external: true });
  const main = workflow("main", async (ctx) => {
    const by = await ctx.task(approval);
    await ctx.sleep("on", "1h");
    return by;
  });
  await world.worker(world.client(), { workflows: [main] });
  const run = await world.client().start(main);
  await world.clock.settle();
  const client = world.client({
    hooks: {
      "tasks.finish": async (_params, call) => {
        const answer = await call();
        // By the time it is repeated, the run has consumed the result.
        await world.later(1_000);
        if (world.store.calls["tasks.finish"] === 1)
          throw new HoldfastError("store_outcome_unknown", "the answer was lost");
        return answer;
      },
    },
  });
  const token = (await client.tasks.list()).tasks[0]?.token as string;
  await world.clock.until(client.tasks.complete(token, "ann"));
  expect(await world.clock.until(run.result())).toBe("ann");
});
