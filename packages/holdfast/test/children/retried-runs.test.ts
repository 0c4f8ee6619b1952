import { signal, task, workflow } from "holdfast";
import { crashEverywhere } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { openWorld } from "../lab/world.ts";

const go = signal("go");
const flaky = task<undefined, string>({ name: "flaky", external: true });

/** A run of a task and a child at once. The task fails in the first attempt of the run, which gives the child up. */
function pair(other: ReturnType<typeof child>, options: { readonly compensate?: () => void }) {
  return workflow({ name: "pair", retry: { attempts: 2, fixed: "1m" } }, async (ctx) =>
    ctx.parallel([(c) => c.task(flaky, undefined, { retry: "none" }), (c) => c.child(other, undefined, options)]),
  );
}

function child(name: string) {
  return workflow(name, async (ctx): Promise<string> => {
    await ctx.receive(go);
    return name;
  });
}

function open() {
  const world = openWorld();
  const client = world.client({});
  const token = async () => (await client.tasks.list({ name: "flaky", status: "external" })).tasks[0]?.token as string;
  const children = async () => (await client.list({ workflow: "other" })).runs;
  return { world, client, token, children };
}

for (const [how, options] of [
  ["without", {}],
  ["with", { compensate: () => {} }],
] as const)
  describe(`a child ${how} a compensation, of a run that is tried again`, () => {
    test("that the first attempt gave up is done for the next one", async () => {
      const { world, client, token, children } = open();
      const other = child("other");
      const main = pair(other, options);
      await world.worker(client, { workflows: [main, other], cacheSize: 0 });
      const run = await client.start(main);
      await world.clock.settle();
      await client.tasks.fail(await token(), new Error("no"));
      await world.clock.advance("2m");
      await client.tasks.complete(await token(), "a");
      await world.clock.settle();
      const newest = (await children()).find(({ status }) => status === "waiting");
      await client.get(newest?.id as string).signal(go);
      expect(await world.result(run)).toEqual(["a", "other"]);
      const statuses = (await children()).map(({ status }) => status);
      expect(statuses).toEqual(how === "with" ? ["completed", "canceled"] : ["completed"]);
    });

    test("that nobody executes until the next one is done for that", async () => {
      const { world, client, token, children } = open();
      const other = child("other");
      const main = pair(other, options);
      await world.worker(client, { workflows: [main], cacheSize: 0 });
      const run = await client.start(main);
      await world.clock.settle();
      await client.tasks.fail(await token(), new Error("no"));
      await world.clock.advance("2m");
      await world.worker(client, { workflows: [other] });
      await world.clock.advance("2m");
      await client.tasks.complete(await token(), "a");
      await world.clock.settle();
      const newest = (await children()).find(({ status }) => status === "waiting");
      await client.get(newest?.id as string).signal(go);
      expect(await world.result(run)).toEqual(["a", "other"]);
    });

    test("whose result comes just before is not waited for in vain", async () => {
      const world = openWorld();
      const other = child("other");
      const main = pair(other, options);
      const outside = world.client({});
      let told = false;
      const client = world.client({
        hooks: {
          "runs.commit": async (params, call) => {
            // The child ends while the failure of the task is on its way.
            const fails = params.commits.some(({ events }) => events.some(({ type }) => type === "task_failed"));
            if (fails && !told) {
              told = true;
              const [run] = (await outside.list({ workflow: "other" })).runs;
              await outside.get(run?.id as string).signal(go);
              await outside.get(run?.id as string).result();
            }
            return call();
          },
        },
      });
      await world.worker(client, { workflows: [main], cacheSize: 0 });
      await world.worker(world.client({}), { workflows: [other], cacheSize: 0 });
      const run = await outside.start(main);
      await world.clock.settle();
      const token = async () => (await outside.tasks.list({ status: "external" })).tasks[0]?.token as string;
      await outside.tasks.fail(await token(), new Error("no"));
      await world.clock.advance("2m");
      await outside.tasks.complete(await token(), "a");
      await world.clock.settle();
      const [newest] = (await outside.list({ workflow: "other" })).runs;
      if (newest?.status !== "completed") await outside.get(newest?.id as string).signal(go);
      expect(await world.result(run)).toEqual(["a", "other"]);
    });

    test("that was given up long before, and is still being wound up, is done once more for the next one", async () => {
      const { world, client, children } = open();
      let broken = true;
      const other = workflow("other", async (ctx): Promise<string> => {
        const slow = await ctx.step("look", () => broken);
        try {
          if (slow) await ctx.sleep("work", "1d");
        } finally {
          if (slow) await ctx.uncancelable((c) => c.sleep("tidying", "3h"));
        }
        return "other";
      });
      const main = workflow({ name: "main", retry: { attempts: 2, fixed: "1m" } }, async (ctx) => {
        const check = (): string => {
          if (broken) throw new Error("not yet");
          return "checked";
        };
        try {
          return await ctx.parallel([
            (c) => c.child(other, undefined, options),
            (c) => c.sleep("first", "1m").then(() => c.step("check", check, { retry: "none" })),
          ]);
        } catch (error) {
          await ctx.sleep("think", "1h");
          throw error;
        }
      });
      await world.worker(client, { workflows: [main, other], cacheSize: 0 });
      const run = await client.start(main);
      await world.clock.advance("30m");
      expect(await children()).toHaveLength(1);
      broken = false;
      expect(await world.result(run)).toEqual(["other", "checked"]);
      expect((await children()).map(({ status }) => status)).toEqual(["completed", "canceled"]);
    });

    test("comes to an end wherever a worker dies", async () => {
      let failed = false;
      const effects = {
        reset: () => {
          failed = false;
        },
        snapshot: () => 0,
      };
      const other = workflow("other", async (ctx): Promise<string> => {
        await ctx.sleep("work", "1h");
        return "other";
      });
      const main = workflow({ name: "main", retry: { attempts: 2, fixed: "1m" } }, async (ctx) => {
        const check = (): string => {
          if (!failed) {
            failed = true;
            throw new Error("not yet");
          }
          return "checked";
        };
        try {
          return await ctx.parallel([
            (c) => c.child(other, undefined, options),
            (c) => c.sleep("first", "1m").then(() => c.step("check", check, { retry: "none" })),
          ]);
        } catch (error) {
          await ctx.sleep("think", "1s");
          throw error;
        }
      });
      const report = await crashEverywhere(main, undefined, { workflows: [other], effects });
      expect(report.output).toEqual(["other", "checked"]);
      expect(report.crashes).toBeGreaterThan(20);
    });
  });

test("a child that has failed before its run was canceled counts as one that failed, and is not replaced", async () => {
  const { world, client, children } = open();
  const outcomes: string[] = [];
  const other = workflow("other", async (): Promise<string> => {
    throw new Error("no");
  });
  const main = workflow({ name: "main", retry: { attempts: 3, fixed: "1h" } }, async (ctx) =>
    ctx.child(other, undefined, { compensate: (_: unknown, c) => void outcomes.push(c.outcome) }),
  );
  await world.worker(client, { workflows: [main, other] });
  const run = await client.start(main);
  await world.clock.settle();
  await run.cancel("enough");
  await expect(world.result(run)).rejects.toMatchObject({ code: "run_canceled" });
  expect(outcomes).toEqual(["failed"]);
  expect(await children()).toHaveLength(1);
});

test("a child that is abandoned with its parent is still replaced if its compensation had it stopped", async () => {
  const { world, client, children } = open();
  let broken = true;
  const other = workflow("other", async (ctx): Promise<string> => {
    if (await ctx.step("look", () => broken)) await ctx.sleep("work", "1d");
    return "other";
  });
  const main = workflow({ name: "main", retry: { attempts: 2, fixed: "1m" } }, async (ctx) => {
    const check = async (): Promise<string> => {
      if (broken) throw new Error("not yet");
      return "checked";
    };
    const options = { onParentClose: "abandon", compensate: () => {} } as const;
    return ctx.parallel([
      (c) => c.child(other, undefined, options),
      (c) => c.sleep("first", "1m").then(() => c.step("check", check, { retry: "none" })),
    ]);
  });
  await world.worker(client, { workflows: [main, other], cacheSize: 0 });
  const run = await client.start(main);
  await world.clock.advance("61s");
  broken = false;
  expect(await world.result(run)).toEqual(["other", "checked"]);
  expect((await children()).map(({ status }) => status)).toEqual(["completed", "canceled"]);
});
