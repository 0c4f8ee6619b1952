// Limits of queues, as users see them: runs and tasks wait for a place.
import { type Client, type Context, task, workflow } from "holdfast";
import { testEngine } from "holdfast/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { Crowd } from "../lab/crowd.ts";
import { openEngine } from "../lab/fleet.ts";

const crowd = () => {
  const seen = new Crowd();
  const visit = workflow(
    { name: "visit", queue: "q", key: (input: { key: string }) => input.key },
    (ctx: Context, input: { key: string }) => seen.stay(ctx, input.key),
  );
  return { seen, visit };
};

async function startAll(client: Client, definition: ReturnType<typeof crowd>["visit"], keys: readonly string[]) {
  const runs = [];
  for (const [i, key] of keys.entries()) runs.push(await client.start(definition, { key }, { id: `${key}${i}` }));
  return runs;
}

const repeat = (key: string, times: number): string[] => Array.from({ length: times }, () => key);

describe("a limit on a queue", () => {
  test("lets in so many runs at once, in the order of their starts, and a run that sleeps keeps its place", async () => {
    const { seen, visit } = crowd();
    const t = await openEngine(visit);
    await t.client.queues.set("q", { concurrency: 3 });
    const runs = await startAll(t.client, visit, repeat("a", 10));
    await Promise.all(runs.map((run) => run.result()));
    expect(seen.most.all).toBe(3);
    expect(seen.order).toEqual(runs.map(({ id }) => id));
    const { inLine, places } = t.store.state;
    expect([inLine.size, places.size]).toEqual([0, 0]);
  });

  test("holds for each key by itself, and not for runs without one", async () => {
    const { seen, visit } = crowd();
    const plain = workflow({ name: "plain", queue: "q" }, (ctx) => seen.stay(ctx, "none"));
    const t = await openEngine(visit, plain);
    await t.client.queues.set("q", { perKey: { concurrency: 2 } });
    const runs = await startAll(t.client, visit, [...repeat("a", 5), ...repeat("b", 5)]);
    const others = await Promise.all([1, 2, 3, 4].map(() => t.client.start(plain)));
    await Promise.all([...runs, ...others].map((run) => run.result()));
    expect(seen.most).toMatchObject({ a: 2, b: 2, none: 4 });
  });

  test("is changed while runs wait: a larger one lets more in, none lets all in", async () => {
    const { seen, visit } = crowd();
    const t = await openEngine(visit);
    await t.client.queues.set("q", { concurrency: 0 });
    const runs = await startAll(t.client, visit, repeat("a", 9));
    await t.clock.advance("1 hour");
    expect(seen.order).toEqual([]);
    await t.client.queues.set("q", { concurrency: 2 });
    await t.clock.advance("1 second");
    expect(seen.order).toHaveLength(2);
    await t.client.queues.set("q", {});
    await t.clock.advance("1 second");
    expect(seen.order).toHaveLength(9);
    await Promise.all(runs.map((run) => run.result()));
  });

  test("counts runs that had begun when it was set", async () => {
    const { seen, visit } = crowd();
    const t = await openEngine(visit);
    const before = await startAll(t.client, visit, repeat("a", 3));
    await t.clock.advance("1 second");
    await t.client.queues.set("q", { concurrency: 3 });
    const [later] = await startAll(t.client, visit, ["b"]);
    await t.clock.advance("10 seconds");
    expect(seen.order).toHaveLength(3);
    await Promise.all([...before, later].map((run) => run?.result()));
    expect(seen.most.all).toBe(3);
  });

  test("is kept by a run that continues as new, and given back by its end", async () => {
    const rounds = workflow({ name: "rounds", queue: "q" }, async (ctx, left: number) => {
      await ctx.sleep("a while", "1 minute");
      return left === 0 ? "done" : ctx.continueAsNew(left - 1);
    });
    const t = await openEngine(rounds);
    await t.client.queues.set("q", { concurrency: 1 });
    const first = await t.client.start(rounds, 2, { id: "first" });
    const second = await t.client.start(rounds, 0, { id: "second" });
    await t.clock.advance("150 seconds");
    expect((await second.describe()).startedAt).toBeNull();
    expect(await first.result()).toBe("done");
    expect(await second.result()).toBe("done");
    expect(t.store.state.places.size).toBe(0);
  });

  test("makes a failed run that is retried wait for a place again", async () => {
    let fails = true;
    const fragile = workflow({ name: "fragile", queue: "q" }, async (ctx) => {
      await ctx.step(
        "try",
        () => {
          if (fails) throw new Error("no");
        },
        { retry: "none" },
      );
      await ctx.sleep("a while", "1 minute");
    });
    const t = await openEngine(fragile);
    await t.client.queues.set("q", { concurrency: 1 });
    const first = await t.client.start(fragile, undefined, { id: "first" });
    await expect(first.result()).rejects.toThrow();
    fails = false;
    const second = await t.client.start(fragile, undefined, { id: "second" });
    await t.clock.advance("1 second");
    await first.retry();
    await t.clock.advance("30 seconds");
    expect((await first.describe()).waitingFor).toEqual(["queue:q"]);
    await second.result();
    await first.result();
  });
});

describe("a run that waits for a place", () => {
  test("is canceled without its code, terminated, and forgotten by the line", async () => {
    const { seen, visit } = crowd();
    const t = await openEngine(visit);
    await t.client.queues.set("q", { concurrency: 1 });
    const [first, canceled, terminated, last] = await startAll(t.client, visit, repeat("a", 4));
    await t.clock.advance("1 second");
    await canceled?.cancel();
    await expect(canceled?.result()).rejects.toMatchObject({ code: "run_canceled" });
    await terminated?.terminate();
    expect(t.store.state.inLine.size).toBe(1);
    await Promise.all([first?.result(), last?.result()]);
    expect(seen.order).toEqual([first?.id, last?.id]);
    expect(t.store.state.inLine.size + t.store.state.places.size).toBe(0);
  });

  test("is paused and resumed, and then waits again", async () => {
    const { seen, visit } = crowd();
    const t = await openEngine(visit);
    await t.client.queues.set("q", { concurrency: 1 });
    const [first, paused, last] = await startAll(t.client, visit, repeat("a", 3));
    await t.clock.advance("1 second");
    await paused?.pause();
    expect(await paused?.status()).toBe("parked");
    await Promise.all([first?.result(), last?.result()]);
    await paused?.resume();
    await paused?.result();
    expect(seen.order).toEqual([first?.id, last?.id, paused?.id]);
  });

  test("of a version that nobody serves does not keep the others of its key waiting", async () => {
    const { seen, visit } = crowd();
    const t = await openEngine(visit);
    await t.client.queues.set("q", { perKey: { concurrency: 1 } });
    const unserved = await t.client.start("visit", { key: "a" }, { id: "old", version: "0", queue: "q", key: "a" });
    const runs = await startAll(t.client, visit, repeat("a", 3));
    await Promise.all(runs.map((run) => run.result()));
    expect(await unserved.status()).toBe("pending");
    expect(seen.order).toEqual(runs.map(({ id }) => id));
  });

  test("times out if its deadline passes first", async () => {
    const { visit } = crowd();
    const t = await openEngine(visit);
    await t.client.queues.set("q", { concurrency: 0 });
    const run = await t.client.start(visit, { key: "a" }, { timeout: "1 minute" });
    await t.clock.advance("1 hour");
    await expect(run.result()).rejects.toMatchObject({ code: "run_timed_out" });
    expect(t.store.state.inLine.size).toBe(0);
  });
});

describe("priority, fairness, rates", () => {
  test("one key with a large backlog does not starve another, and weights give shares", async () => {
    const { seen, visit } = crowd();
    const t = await openEngine(visit);
    await t.client.queues.set("q", { concurrency: 2, weights: { a: 3 } });
    const many = await startAll(t.client, visit, repeat("a", 40));
    const few = await startAll(t.client, visit, repeat("b", 4));
    await Promise.all([...many, ...few].map((run) => run.result()));
    const places = few.map(({ id }) => seen.order.indexOf(id));
    expect(Math.max(...places)).toBeLessThan(20);
    expect(places[3] as number).toBeGreaterThan(8);
  });

  test("the highest priority of a key goes first, and the lowest is late, but not starved, with aging", async () => {
    const order: string[] = [];
    const short = workflow({ name: "short", queue: "q" }, async (ctx) => {
      await ctx.step("note", () => void order.push(ctx.info.id));
      await ctx.sleep("a while", "1 minute");
    });
    const t = await openEngine(short);
    await t.client.queues.set("q", { concurrency: 1, aging: "5 minutes" });
    const runs = [await t.client.start(short, undefined, { id: "first" })];
    runs.push(await t.client.start(short, undefined, { id: "low", priority: -2 }));
    for (let i = 0; i < 15; i++) {
      runs.push(await t.client.start(short, undefined, { id: `high${i}`, priority: 0 }));
      await t.clock.advance("1 minute");
    }
    await Promise.all(runs.map((run) => run.result()));
    const place = order.indexOf("low");
    expect(place).toBeGreaterThan(5);
    expect(place).toBeLessThan(15);
  });

  test("a rate lets in a burst and then so many in each period", async () => {
    const begun: number[] = [];
    const quick = workflow({ name: "quick", queue: "q" }, (ctx) =>
      ctx.step("note", () => void begun.push(t.clock.now())),
    );
    const t = await openEngine(quick);
    await t.client.queues.set("q", { rate: { limit: 10, per: "1s", burst: 5 } });
    const before = t.clock.now();
    const runs = await Promise.all(Array.from({ length: 25 }, () => t.client.start(quick)));
    await Promise.all(runs.map((run) => run.result()));
    expect(begun.filter((at) => at - before < 50)).toHaveLength(5);
    const last = Math.max(...begun) - before;
    expect(last).toBeGreaterThanOrEqual(1_990);
    expect(last).toBeLessThan(2_200);
  });

  test("a rate per key is counted for each key", async () => {
    const begun: Record<string, number> = {};
    const quick = workflow({ name: "quick", queue: "q" }, (ctx, key: string) =>
      ctx.step("note", () => {
        begun[key] = t.clock.now();
      }),
    );
    const t = await openEngine(quick);
    await t.client.queues.set("q", { perKey: { rate: { limit: 1, per: "10s" } } });
    const before = t.clock.now();
    const keys = ["a", "b", "a", "b", "a"];
    const runs = await Promise.all(keys.map((key) => t.client.start(quick, key, { key })));
    await Promise.all(runs.map((run) => run.result()));
    const seconds = (key: string) => Math.round(((begun[key] as number) - before) / 1_000);
    expect([seconds("a"), seconds("b")]).toEqual([20, 10]);
  });
});

describe("tasks in a queue with limits", () => {
  test("are executed so many at once, whoever schedules them, and have the key of their run unless they name one", async () => {
    const seen = new Crowd();
    const work = task({ name: "work", queue: "q" }, (key: string) => seen.inside(key));
    const many = workflow("many", (ctx: Context, key: string) =>
      Promise.all([1, 2, 3, 4].map((i) => ctx.task(work, `${key}`, i === 4 ? { key: "own" } : {}))),
    );
    const t = await testEngine({ workflows: [many], tasks: [work] });
    onTestFinished(() => t.close());
    await t.client.queues.set("q", { concurrency: 3, perKey: { concurrency: 2 } });
    const runs = await Promise.all(["a", "b"].map((key) => t.client.start(many, key, { key })));
    await t.clock.advance("1 second");
    expect(seen.now.all).toBe(3);
    const [queue] = (await t.client.queues()).filter(({ name }) => name === "q");
    expect(queue?.tasks).toMatchObject({ running: 3, waiting: 5 });
    expect(queue?.tasks.holders.map(({ op, key }) => [op, key]).length).toBe(3);
    while (seen.visits < 8) {
      seen.letOut();
      await t.clock.advance("1 second");
    }
    seen.letOut();
    await Promise.all(runs.map((run) => run.result()));
    expect(seen.most.all).toBe(3);
    expect(seen.visits).toBe(8);
    expect(t.store.state.inLine.size + t.store.state.places.size).toBe(0);
  });
});

describe("what is wrong about limits and keys", () => {
  test("limits that are missing, and a key that cannot be computed, are refused by name", async () => {
    type Input = { readonly tenant?: { readonly id: string } };
    const takes = async (_ctx: Context, _input: Input) => 1;
    const keyed = workflow({ name: "keyed", key: (input: Input) => input.tenant?.id as string }, takes);
    const thrower = workflow({ name: "thrower", key: (input: Input) => (input.tenant as { id: string }).id }, takes);
    const t = await openEngine(keyed, thrower);
    await expect(t.client.queues.set("q", undefined as never)).rejects.toMatchObject({
      code: "invalid_option",
      message: 'queues.set("q"): the limits are missing. Pass an object: {} removes all limits of the queue.',
    });
    const advice =
      "It must return a text for every input, or the start must pass a key. For runs without a key, leave out the option key of the workflow.";
    const returned = [
      [undefined, "undefined, not a text"],
      [5, "5, not a text"],
      ["", '"", which is empty'],
      ["a#1", '"a#1", which ends in "#" and a number, which is reserved for repeated ops'],
    ] as const;
    for (const [id, what] of returned)
      await expect(t.client.start(keyed, { tenant: { id: id as string } })).rejects.toMatchObject({
        code: "invalid_name",
        message: `key of workflow "keyed": the function returned ${what}. ${advice}`,
        data: { name: id === undefined ? "undefined" : id === 5 ? "5" : id },
      });
    await expect(t.client.start(thrower, {})).rejects.toMatchObject({
      code: "invalid_option",
      data: { option: "key" },
      message: expect.stringMatching(
        /^key of workflow "thrower": the function threw TypeError: .* or the start must pass a key\.$/,
      ),
    });
    expect(await t.client.run(thrower, {}, { key: "k" })).toBe(1);
  });
});

describe("a queue without limits", () => {
  test("is started and held at once, as ever, and costs no call more", async () => {
    const plain = workflow("plain", (ctx) => ctx.step("s", () => 1));
    const t = await openEngine(plain);
    await t.run(plain);
    const before = { ...t.store.calls };
    await t.run(plain);
    expect(t.store.calls["runs.start"]).toBe((before["runs.start"] ?? 0) + 1);
    expect(t.store.calls["queues.list"]).toBeUndefined();
    expect(t.store.state.limited.size).toBe(0);
  });
});
