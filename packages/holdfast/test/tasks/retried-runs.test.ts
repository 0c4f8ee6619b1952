import { type TaskDefinition, task, workflow } from "holdfast";
import { expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";
import { openWorld } from "../lab/world.ts";

for (const by of ["a person", "itself"] as const) {
  test(`a task that was taken back when another branch failed is done after a retry by ${by}`, async () => {
    const fleet = openFleet();
    let broken = true;
    const slow = task("slow", () => "done");
    const retry = by === "itself" ? { retry: { attempts: 2, fixed: "1m" } as const } : {};
    const main = workflow({ name: "main", ...retry }, async (ctx) =>
      ctx.parallel([
        (c) => c.task(slow),
        (c) =>
          c.step(
            "check",
            () => {
              if (broken) throw new Error("not yet");
              return "checked";
            },
            { retry: "none" },
          ),
      ]),
    );
    await fleet.worker({ workflows: [main], cacheSize: 0 });
    const run = await fleet.client().start(main);
    await fleet.clock.settle();
    if (by === "a person") expect(await run.status()).toBe("failed");
    broken = false;
    await fleet.worker({ tasks: [slow] });
    if (by === "a person") await run.retry();
    expect(await fleet.clock.until(run.result())).toEqual(["done", "checked"]);
  });
}

for (const by of ["a person", "itself"] as const) {
  test(`a task that a failed branch took back, long before the run failed, is done after a retry by ${by}`, async () => {
    const fleet = openFleet();
    let broken = true;
    const slow = task("slow", () => "done");
    const retry = by === "itself" ? { retry: { attempts: 2, fixed: "1m" } as const } : {};
    const main = workflow({ name: "main", ...retry }, async (ctx) => {
      const check = (): string => {
        if (broken) throw new Error("not yet");
        return "checked";
      };
      try {
        return await ctx.parallel([(c) => c.task(slow), (c) => c.step("check", check, { retry: "none" })]);
      } catch (error) {
        await ctx.sleep("think", "1h");
        throw error;
      }
    });
    await fleet.worker({ workflows: [main], cacheSize: 0 });
    const run = await fleet.client().start(main);
    await fleet.clock.settle();
    await fleet.clock.advance("1h");
    await fleet.clock.settle();
    if (by === "a person") expect(await run.status()).toBe("failed");
    broken = false;
    await fleet.worker({ tasks: [slow] });
    if (by === "a person") await run.retry();
    expect(await fleet.clock.until(run.result())).toEqual(["done", "checked"]);
  });
}

const flaky = task<undefined, string>({ name: "flaky", external: true });

/** A run of two tasks at once. The first fails in the first attempt of the run, which gives the other one up. */
function pair(other: TaskDefinition<undefined, string>, options: { readonly compensate?: () => void }) {
  return workflow({ name: "pair", retry: { attempts: 2, fixed: "1m" } }, async (ctx) =>
    ctx.parallel([(c) => c.task(flaky, undefined, { retry: "none" }), (c) => c.task(other, undefined, options)]),
  );
}

test("a result that comes while its run is about to be tried again is not lost", async () => {
  const world = openWorld();
  const main = pair(task<undefined, string>({ name: "other", external: true }), {});
  let told = false;
  const outside = world.client({});
  const token = async (name: string) => (await outside.tasks.list({ name })).tasks[0]?.token as string;
  const client = world.client({
    hooks: {
      "runs.commit": async (params, call) => {
        // The other task ends while the failure of the first one is on its way.
        const fails = params.commits.some(({ events }) => events.some(({ type }) => type === "task_failed"));
        if (fails && !told) {
          told = true;
          await outside.tasks.complete(await token("other"), "early");
        }
        return call();
      },
    },
  });
  await world.worker(client, { workflows: [main], cacheSize: 0 });
  const run = await client.start(main);
  await world.clock.settle();
  await outside.tasks.fail(await token("flaky"), new Error("no"));
  await world.clock.advance("2m");
  await outside.tasks.complete(await token("flaky"), "a");
  expect(await world.result(run)).toEqual(["a", "early"]);
});

test("a result behind the failure that ends an attempt of the run is asked for once more", async () => {
  const world = openWorld();
  const main = pair(task<undefined, string>({ name: "other", external: true }), {});
  const client = world.client({});
  const open = async () => (await client.tasks.list({ status: "external" })).tasks;
  const token = async (name: string) => (await open()).find((one) => one.name === name)?.token as string;
  const first = await world.worker(client, { workflows: [main], cacheSize: 0 });
  const run = await client.start(main);
  await world.clock.settle();
  await first.stop();
  // The next claim finds both.
  await client.tasks.fail(await token("flaky"), new Error("no"));
  await client.tasks.complete(await token("other"), "early");
  await world.worker(client, { workflows: [main], cacheSize: 0 });
  await world.clock.advance("2m");
  expect((await open()).map(({ name }) => name).sort()).toEqual(["flaky", "other"]);
  await client.tasks.complete(await token("flaky"), "a");
  await client.tasks.complete(await token("other"), "b");
  expect(await world.result(run)).toEqual(["a", "b"]);
});

test("a task with a compensation that the first attempt of its run gave up is done for the next one", async () => {
  const world = openWorld();
  const other = task("other", (_: undefined) => "b");
  const main = pair(other, { compensate: () => {} });
  const client = world.client({});
  const token = async () => (await client.tasks.list({ name: "flaky", status: "external" })).tasks[0]?.token as string;
  await world.worker(client, { workflows: [main], cacheSize: 0 });
  const run = await client.start(main);
  await world.clock.settle();
  await client.tasks.fail(await token(), new Error("no"));
  await world.clock.advance("2m");
  await client.tasks.complete(await token(), "a");
  await world.worker(client, { tasks: [other] });
  expect(await world.result(run)).toEqual(["a", "b"]);
});

test("a task that has failed before its run was canceled counts as one that failed, not as one that never began", async () => {
  const world = openWorld();
  const outcomes: string[] = [];
  const flaky = task({ name: "flaky", retry: "none" }, () => {
    throw new Error("no");
  });
  const main = workflow({ name: "main", retry: { attempts: 3, fixed: "1h" } }, async (ctx) =>
    ctx.task(flaky, undefined, { compensate: (_: unknown, c) => void outcomes.push(c.outcome) }),
  );
  const client = world.client({});
  await world.worker(client, { workflows: [main], tasks: [flaky] });
  const run = await client.start(main);
  await world.clock.settle();
  await run.cancel("enough");
  await expect(world.result(run)).rejects.toMatchObject({ code: "run_canceled" });
  expect(outcomes).toEqual(["failed"]);
});
