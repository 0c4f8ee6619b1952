// How much the engine asks of the store, counted on the memory store: each call would be one round trip to a database. Every
// figure is printed, so that CI shows it.
import { type Context, signal, workflow } from "holdfast";
import { type MemoryStore, testEngine, VirtualClock } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { Fleet } from "./lab/fleet.ts";
import { Cluster } from "./lab/harness.ts";

type Calls = MemoryStore["calls"];

function print(figure: string): void {
  process.stdout.write(`count: ${figure}\n`);
}

/** The calls made since a copy was taken, without those that are zero. */
function since(before: Calls, after: Calls): Calls {
  const entries = Object.entries(after).map(
    ([method, n]) => [method, n - (before[method as keyof Calls] ?? 0)] as const,
  );
  return Object.fromEntries(entries.filter(([, n]) => n > 0));
}

async function callsOf(code: (ctx: Context) => Promise<unknown>): Promise<Calls> {
  const job = workflow("job", code);
  const t = await testEngine({ workflows: [job] });
  await t.clock.settle();
  const before = { ...t.store.calls };
  const run = await t.client.start(job);
  await t.clock.advance("1 day");
  expect(["completed", "sleeping"]).toContain(await run.status());
  const { "runs.read": _read, ...calls } = since(before, t.store.calls);
  await t.close();
  return calls;
}

describe("calls of the store", () => {
  test("a three-step run started next to its worker takes exactly one start and three commits", async () => {
    const calls = await callsOf(async (ctx) => {
      for (const name of ["one", "two", "three"]) await ctx.step(name, () => name);
    });
    print(`a run of three steps: ${JSON.stringify(calls)}`);
    expect(calls).toEqual({ "runs.start": 1, "runs.commit": 3 });
  });

  test("what happens between two effects is committed together", async () => {
    const empty = await callsOf(async () => "done");
    const stepAndReturn = await callsOf((ctx) => ctx.step("one", () => 1));
    const stepAndSleep = await callsOf(async (ctx) => {
      await ctx.step("one", () => 1);
      ctx.set({ stage: "asleep" });
      await ctx.sleep("nap", "9 days");
    });
    print(
      `an empty run ${empty["runs.commit"]}, step and return ${stepAndReturn["runs.commit"]}, step and sleep ${stepAndSleep["runs.commit"]} commits`,
    );
    expect([empty, stepAndReturn, stepAndSleep].map((calls) => calls["runs.commit"])).toEqual([1, 1, 1]);
  });

  test("a thousand parallel steps in one run take a handful of flushes", async () => {
    const parallel = (work: (i: number) => Promise<number>) => (ctx: Context) =>
      ctx.parallel(Array.from({ length: 1_000 }, (_, i) => () => ctx.step(`part ${i}`, () => work(i))));
    const together = await callsOf(parallel(async (i) => i));
    const clock = new VirtualClock();
    const spread = await callsOf(
      parallel(async (i) => {
        for (let tick = 0; tick < i % 20; tick++) await new Promise<void>((resolve) => clock.immediate(resolve));
        return i;
      }),
    );
    print(
      `1,000 parallel steps in one run, commits: ${together["runs.commit"]}; ended at 20 different times: ${spread["runs.commit"]}`,
    );
    expect(together["runs.commit"]).toBeLessThanOrEqual(10);
    expect(spread["runs.commit"]).toBeLessThanOrEqual(25);
  });

  test("a batch takes a list, a delivery and two commits for each hundred runs", async () => {
    const idle = workflow("idle", (ctx) => ctx.receive(signal("go")));
    const fleet = new Fleet();
    const client = fleet.client();
    await client.startMany(Array.from({ length: 1_000 }, () => ({ workflow: idle, input: undefined })));
    const before = { ...fleet.store.calls };
    await fleet.clock.until(client.batch({ workflow: "idle" }).cancel());
    const calls = since(before, fleet.store.calls);
    print(`a batch of 1,000 runs: ${JSON.stringify(calls)}`);
    expect(calls).toMatchObject({ "runs.start": 1, "runs.list": 10, "inbox.deliver": 10 });
    expect(calls["runs.commit"]).toBeLessThanOrEqual(21);
    const total = Object.values(calls).reduce((sum, n) => sum + n, 0);
    expect(total).toBeLessThanOrEqual(60);
    await fleet.close();
  });

  test("a worker that is idle asks for nothing more because there are batches", async () => {
    const idle = workflow("idle", (ctx) => ctx.receive(signal("go")));
    const asked = async (batches: number): Promise<Calls> => {
      const cluster = new Cluster();
      const { client } = cluster.process();
      for (let i = 0; i < batches; i++) await cluster.until(client.batch({}).cancel());
      await cluster.process().worker({ workflows: [idle] });
      await cluster.clock.advance("1m");
      const before = { ...cluster.store.calls };
      await cluster.clock.advance("1h");
      return since(before, cluster.store.calls);
    };
    const [without, after] = [await asked(0), await asked(3)];
    print(`an idle worker in an hour: ${JSON.stringify(after)}`);
    expect(after).toEqual(without);
    expect(without["runs.count"]).toBe(60);
  });

  test("a hundred runs of three steps at once share their commits", async () => {
    const job = workflow("job", async (ctx) => {
      for (const name of ["one", "two", "three"]) await ctx.step(name, () => name);
    });
    const t = await testEngine({ workflows: [job] });
    await t.clock.settle();
    const before = { ...t.store.calls };
    const runs = await t.client.startMany(Array.from({ length: 100 }, () => ({ workflow: job })));
    await Promise.all(runs.map((run) => run.result()));
    const calls = since(before, t.store.calls);
    print(`100 runs of three steps at once: ${JSON.stringify(calls)}`);
    expect(calls["runs.commit"]).toBeLessThanOrEqual(10);
    await t.close();
  });

  test("a step costs the same at the end of a long run as at its beginning", async () => {
    const marks = new Map<number, Calls>();
    const long = workflow("long", async (ctx) => {
      for (let i = 1; i <= 10_000; i++) {
        await ctx.step("step", () => {
          if (marks.size < 2 || i >= 9_900) marks.set(i, { ...store.calls });
          if (i === 100 || i === 200) marks.set(i, { ...store.calls });
          return i;
        });
      }
    });
    const t = await testEngine({ workflows: [long] });
    const { store } = t;
    await t.run(long);
    const window = (from: number, to: number): Calls => since(marks.get(from) ?? {}, marks.get(to) ?? {});
    const [early, late] = [window(100, 200), window(9_900, 10_000)];
    print(`100 steps from step 100 on: ${JSON.stringify(early)}; from step 9,900 on: ${JSON.stringify(late)}`);
    expect(early).toEqual({ "runs.commit": 100 });
    expect(late).toEqual(early);
    await t.close();
  });

  test("ten thousand sleeping runs advance through virtual time", async () => {
    const naps = workflow("naps", async (ctx, minutes: number) => {
      await ctx.sleep("first", { minutes });
      await ctx.sleep("second", "1 day");
      return minutes;
    });
    const fleet = new Fleet();
    const worker = await fleet.worker({ workflows: [naps], concurrency: 1_000, cacheSize: 10_000 });
    const client = fleet.client();
    const requests = Array.from({ length: 10_000 }, (_, i) => ({ workflow: naps, input: 1 + (i % 50) }));
    const runs = await client.startMany(requests);
    await fleet.clock.settle();
    expect(await client.count({ status: "sleeping" })).toBe(10_000);
    expect(worker.activeRuns).toBe(0);
    const before = { ...fleet.store.calls };
    await fleet.clock.advance("60m");
    const half = since(before, fleet.store.calls);
    expect(await client.count({ status: "sleeping" })).toBe(10_000);
    await fleet.clock.advance("1 day");
    expect(await client.count({ status: "completed" })).toBe(10_000);
    expect(await runs.at(-1)?.result()).toBe(50);
    print(`10,000 sleeping runs woken at 50 times: ${JSON.stringify(half)}`);
    expect(half["runs.commit"]).toBeLessThan(500);
    expect(half["histories.read"]).toBeUndefined();
    await fleet.close();
  });

  test("an idle worker asks for nothing but its heartbeat, its sweep and a look for lost hints", async () => {
    const fleet = new Fleet();
    const idle = workflow("idle", async () => {});
    await fleet.worker({ workflows: [idle], lease: "30s", tuning: { claimFallbackMs: 5_000 } });
    await fleet.clock.settle();
    const before = { ...fleet.store.calls };
    await fleet.clock.advance("1h");
    const calls = since(before, fleet.store.calls);
    print(`an idle worker in one hour: ${JSON.stringify(calls)}`);
    expect(Object.keys(calls).toSorted()).toEqual([
      "runs.claim",
      "runs.holdIfParkedByOtherCode",
      "workers.forget",
      "workers.heartbeat",
      "workers.sweep",
    ]);
    // The leader looks once an hour for what is old.
    expect(calls["workers.forget"]).toBe(1);
    expect(calls["runs.holdIfParkedByOtherCode"]).toBe(calls["workers.sweep"]);
    expect(calls["workers.heartbeat"]).toBeLessThanOrEqual(600);
    expect(calls["runs.claim"]).toBeLessThanOrEqual(720);
    await fleet.close();
  });
});
