// What the API page promises, row by row, as programs that compile without a cast and run. Types are asserted as they are
// inferred; what must not compile is in type-checks.ts.
import {
  type Client,
  connect,
  type EventView,
  type ForkOptions,
  jsonCodec,
  NonRetryableError,
  type Offers,
  RecordedError,
  RetryableError,
  RunCanceledError,
  RunFailedError,
  type RunHandle,
  type RunStatus,
  RunTerminatedError,
  RunTimedOutError,
  type StepView,
  signal,
  silentLogger,
  workflow,
} from "holdfast";
import { crashEverywhere, replay, testEngine } from "holdfast/testing";
import { describe, expect, expectTypeOf, onTestFinished, test } from "vitest";
import { z } from "zod";
import { openEngine } from "../lab/fleet.ts";
import { approve, order, orderSomething, sendMail, world } from "./order-example.ts";

/** A client as an application has it, on a store of its own and the clock of the machine. */
async function application(options: Parameters<typeof connect>[1] = {}): Promise<Client> {
  const hf = await connect("memory:", { logger: silentLogger, ...options });
  onTestFinished(() => hf.close());
  return hf;
}

describe("the example at the top", () => {
  test("runs as written, with everything inferred", async () => {
    const t = await testEngine({ workflows: [order], tasks: [sendMail] });
    onTestFinished(() => t.close());
    const result = await orderSomething(t.client);
    expectTypeOf(result).toEqualTypeOf<{ payment: string; label: string; mail: { to: string; order: string } }>();
    expect(result).toEqual({
      payment: "payment charge",
      label: "label of o-1",
      mail: { to: "ann", order: "o-1" },
    });
  });

  test("refunds when nobody approves within three days", async () => {
    world.length = 0;
    const t = await openEngine(order);
    const began = t.clock.now();
    const run = await t.client.start(order, { id: "o-2", cents: 5 });
    await expect(run.result()).rejects.toThrow(RunFailedError);
    expect(world).toEqual(["charge 5 for o-2", "refund charge"]);
    expect(t.clock.now() - began).toBe(3 * 86_400_000);
    expect((await run.describe()).compensation).toBe("compensated");
  });

  test("works with connect and a worker of one's own, on the clock of the machine", async () => {
    const hf = await application();
    const hello = workflow("hello", async (ctx, name: string) => {
      const text = await ctx.step("greet", () => `hello ${name}`);
      await ctx.sleep("a moment", "5ms");
      return { text, approved: await ctx.receive(approve) };
    });
    const worker = hf.worker({ workflows: [hello] });
    await worker.start();
    const run = await hf.start(hello, "ann", { id: "h-1" });
    await run.signal(approve, { by: "bob" });
    const result = await run.result({ timeout: "10s" });
    expectTypeOf(result).toEqualTypeOf<{ text: string; approved: { by: string } }>();
    expect(result).toEqual({ text: "hello ann", approved: { by: "bob" } });
    await worker.drain();
  });
});

describe("define", () => {
  test("workflow(name, fn) and workflow(options, fn) infer input and output", async () => {
    const plain = workflow("plain", async (_ctx, input: { n: number }) => input.n * 2);
    const full = workflow(
      {
        name: "full",
        version: "2",
        input: z.object({ n: z.number(), at: z.coerce.date().optional() }),
        output: z.number(),
        queue: "q",
        retry: { attempts: 2, fixed: "1s" },
        timeout: "1h",
        priority: 3,
      },
      async (_ctx, input) => {
        expectTypeOf(input).toEqualTypeOf<{ n: number; at?: Date | undefined }>();
        return input.n;
      },
    );
    const t = await openEngine(plain, full);
    const [a, b] = [await t.run(plain, { n: 1 }), await t.run(full, { n: 3, at: "2030-01-01" })];
    expectTypeOf(a).toEqualTypeOf<number>();
    expectTypeOf(b).toEqualTypeOf<number>();
    expect([a, b]).toEqual([2, 3]);
  });

  test("signal<T>(name) types the payload on both ends, and takes a schema", async () => {
    const plain = signal<{ by: string }>("plain");
    const empty = signal("empty");
    const checked = signal("checked", z.object({ n: z.number() }));
    const all = workflow("all", async (ctx) => {
      const one = await ctx.receive(plain);
      const two = await ctx.receive(empty);
      const three = await ctx.receive(checked);
      const four = await ctx.receive(plain, { timeout: "1s" });
      expectTypeOf(one).toEqualTypeOf<{ by: string }>();
      expectTypeOf(two).toEqualTypeOf<true>();
      expectTypeOf(three).toEqualTypeOf<{ n: number }>();
      expectTypeOf(four).toEqualTypeOf<{ by: string } | undefined>();
      return [one.by, two, three.n, four?.by];
    });
    const t = await openEngine(all);
    const run = await t.client.start(all);
    await run.signal(plain, { by: "ann" }, { id: "s-1" });
    await run.signal(empty);
    await run.signal(checked, { n: 5 });
    expect(await run.result()).toEqual(["ann", true, 5, undefined]);
  });

  test("a signal that may be sent without a payload is typed as what is received then: true", async () => {
    const plain = signal<undefined>("plain");
    const nothing = signal<void>("nothing");
    const maybe = signal<{ by: string } | undefined>("maybe");
    const nullable = signal<{ by: string } | null>("nullable");
    const checked = signal("checked", z.object({ n: z.number() }).optional());
    const all = workflow("all", async (ctx) => {
      const one = await ctx.receive(plain);
      const two = await ctx.receive(nothing);
      const three = await ctx.receive(maybe);
      const four = await ctx.receive(nullable);
      const five = await ctx.receive(checked, { timeout: "1s" });
      expectTypeOf(one).toEqualTypeOf<true>();
      expectTypeOf(two).toEqualTypeOf<true>();
      expectTypeOf(three).toEqualTypeOf<{ by: string } | true>();
      expectTypeOf(four).toEqualTypeOf<{ by: string } | null>();
      expectTypeOf(five).toEqualTypeOf<{ n: number } | true | undefined>();
      return [one, two, three, four, five];
    });
    const t = await openEngine(all);
    const run = await t.client.start(all);
    await run.signal(plain);
    await run.signal(nothing, undefined, { id: "n-1" });
    await run.signal(maybe);
    await run.signal(nullable, null);
    await run.signal(checked);
    expect(await run.result()).toEqual([true, true, true, null, true]);
  });

  test("durations, retry and retryIf take every form of the page", async () => {
    const forms = workflow("forms", async (ctx) => {
      for (const duration of ["250ms", "30s", "1 day", "2h 30m", { minutes: 5 }] as const)
        await ctx.sleep("nap", duration);
      await ctx.step("a", () => 1, { retry: { attempts: 2, initial: "1s", factor: 2, max: "1m", jitter: 0.1 } });
      await ctx.step("b", () => 1, { retry: { attempts: 2, fixed: "1s" }, retryIf: "retryable" });
      await ctx.step("c", () => 1, { retry: "none", retryIf: "any" });
      await ctx.step("d", () => 1, { retryIf: "never" });
      await ctx.step("e", () => 1, { retryIf: ["Timeout", "NotFound"] });
      await ctx.step("f", () => 1, {
        retryIf: (error, { kind, attempt }) => error instanceof Error && !!kind && attempt < 9,
      });
    });
    const t = await openEngine(forms);
    expect(await t.run(forms)).toBeUndefined();
  });
});

describe("in a workflow", () => {
  test("ctx.step passes on its result, and tells the function and the compensation what the page says", async () => {
    const told: unknown[] = [];
    const saga = workflow("saga", async (ctx) => {
      const paid = await ctx.step("pay", (s) => ({ cents: 5, attempt: s.attempt, aborted: s.signal.aborted }), {
        retry: { attempts: 3 },
        retryIf: "default",
        timeout: "10s",
        onCrash: "fail",
        compensate: (result, c) => {
          expectTypeOf(result).toEqualTypeOf<{ cents: number; attempt: number; aborted: boolean } | undefined>();
          expectTypeOf(c.outcome).toEqualTypeOf<"completed" | "failed" | "unknown">();
          told.push(result?.cents, c.outcome, typeof c.idempotencyKey);
        },
      });
      expectTypeOf(paid.cents).toEqualTypeOf<number>();
      throw new NonRetryableError(`undo ${paid.cents}`);
    });
    const t = await openEngine(saga);
    await expect(t.run(saga)).rejects.toMatchObject({ cause: { message: "undo 5" } });
    expect(told).toEqual([5, "completed", "string"]);
  });

  test("ctx.parallel and ctx.race keep the shape and the types of their branches", async () => {
    const shapes = workflow("shapes", async (ctx) => {
      const object = await ctx.parallel({ a: (c) => c.step("a", () => 1), b: () => "b", c: async () => true });
      expectTypeOf(object).toEqualTypeOf<{ a: number; b: string; c: boolean }>();
      const list = await ctx.parallel(["x", "y"].map((name) => () => ctx.step(name, () => name.length)));
      expectTypeOf(list).toEqualTypeOf<number[]>();
      const all = await ctx.parallel({ a: () => 1, b: () => "b" }, { onError: "collect-all", limit: 1 });
      expectTypeOf(all).toEqualTypeOf<{ a: PromiseSettledResult<number>; b: PromiseSettledResult<string> }>();
      const race = await ctx.race({ quick: () => 1, slow: (c) => c.sleep("slow", "1h").then(() => "slow") });
      expectTypeOf(race.winner).toEqualTypeOf<"quick" | "slow">();
      if (race.winner === "quick") expectTypeOf(race.value).toEqualTypeOf<number>();
      else expectTypeOf(race.value).toEqualTypeOf<string>();
      return { object, list, statuses: [all.a.status, all.b.status], winner: race.winner };
    });
    const t = await openEngine(shapes);
    expect(await t.run(shapes)).toEqual({
      object: { a: 1, b: "b", c: true },
      list: [1, 1],
      statuses: ["fulfilled", "fulfilled"],
      winner: "quick",
    });
  });

  test("the helpers have the types of the page", async () => {
    const helpers = workflow("helpers", async (ctx, round: number): Promise<string> => {
      expectTypeOf(ctx.now()).toEqualTypeOf<Date>();
      expectTypeOf(ctx.random()).toEqualTypeOf<number>();
      expectTypeOf(ctx.uuid()).toEqualTypeOf<string>();
      expectTypeOf(ctx.uuid("order")).toEqualTypeOf<string>();
      expectTypeOf(ctx.sideEffect("flag", () => 5 as const)).toEqualTypeOf<5>();
      expectTypeOf(ctx.patched("change-1")).toEqualTypeOf<boolean>();
      expectTypeOf(ctx.abortSignal).toEqualTypeOf<AbortSignal>();
      expectTypeOf(ctx.continueAsNew).returns.toEqualTypeOf<never>();
      ctx.set({ key: "value", n: 1, yes: true, none: null });
      ctx.retired("gone");
      ctx.compensate("undo", () => {});
      ctx.log.info({ round }, "hello");
      await ctx.sleepUntil("until", new Date(0));
      const shielded = await ctx.uncancelable((c) => c.step("inside", () => "text"));
      expectTypeOf(shielded).toEqualTypeOf<string>();
      if (round < 2) ctx.continueAsNew(round + 1);
      return `${ctx.info.workflow} ${shielded}`;
    });
    const t = await openEngine(helpers);
    expect(await t.run(helpers, 0)).toBe("helpers text");
  });
});

describe("from outside", () => {
  const echo = workflow("echo", async (_ctx, input: { n: number }) => input.n);

  test("connect, start, startMany, run, get, list and count have the types of the page", async () => {
    const hf = await application({ namespace: "tenant", codec: jsonCodec });
    await hf
      .worker({
        workflows: [echo],
        queues: ["default"],
        concurrency: 5,
        lease: "30s",
        labels: { zone: "a" },
        name: "w",
      })
      .start();
    const run = await hf.start(
      echo,
      { n: 1 },
      {
        id: "e-1",
        version: "1",
        queue: "default",
        priority: 1,
        timeout: "1h",
        attributes: { customer: "ann" },
        ifRunning: "return",
        ifClosed: "return",
      },
    );
    type Echo = RunHandle<number, Offers, { n: number }>;
    expectTypeOf(run).toEqualTypeOf<Echo>();
    expectTypeOf(run).toExtend<RunHandle<number>>();
    expectTypeOf(run.fork).parameter(0).toEqualTypeOf<ForkOptions<{ n: number }>>();
    expectTypeOf(hf.get(echo, "e-1")).toEqualTypeOf<Echo>();
    expectTypeOf(hf.get("e-1")).toEqualTypeOf<RunHandle<unknown>>();
    expect(await run.result()).toBe(1);
    const many = await hf.startMany([
      { workflow: echo, input: { n: 2 } },
      { workflow: echo, input: { n: 3 } },
    ]);
    expectTypeOf(many).toEqualTypeOf<[Echo, Echo]>();
    expect(await Promise.all(many.map((one) => one.result()))).toEqual([2, 3]);
    expect(await hf.run(echo, { n: 4 })).toBe(4);
    const page = await hf.list({ workflow: "echo", status: ["completed"], attributes: { customer: "ann" }, limit: 10 });
    expect(page.runs.map(({ id }) => id)).toEqual(["e-1"]);
    expect(page.cursor).toBeNull();
    expect(await hf.count({ workflow: "echo" })).toBe(4);
  });

  test("a handle has the calls of the page", async () => {
    const t = await openEngine(echo);
    const run = await t.client.start(echo, { n: 1 }, { id: "e" });
    expectTypeOf(await run.result({ timeout: "1h" })).toEqualTypeOf<number>();
    expectTypeOf(await run.status()).toEqualTypeOf<RunStatus>();
    expectTypeOf(await run.history()).toEqualTypeOf<EventView[]>();
    expectTypeOf(await run.steps()).toEqualTypeOf<StepView[]>();
    expect([run.id, run.runId.length, (await run.describe()).output]).toEqual(["e", 36, 1]);
    await run.cancel("too late");
    await run.terminate("too late");
    await expect(run.resume()).rejects.toMatchObject({ code: "run_closed" });
    await expect(run.retry()).rejects.toMatchObject({ code: "run_not_failed" });
  });

  test("versions, workers, health and why answer", async () => {
    const t = await openEngine(echo);
    await t.client.versions.setDefault("echo", "1");
    await t.client.versions.deprecate("echo", "1", false);
    expect((await t.client.versions.list("echo")).map(({ version, isDefault }) => [version, isDefault])).toEqual([
      ["1", true],
    ]);
    expect((await t.client.workers.list()).map(({ workflows }) => workflows)).toEqual([["echo@1"]]);
    expect((await t.client.health()).status).toBe("healthy");
    await t.run(echo, { n: 1 }, { id: "e" });
    expect((await t.client.why("e")).reason).toBe("It is completed; it waits for nothing.");
  });
});

describe("errors", () => {
  test("result() rejects with the class of the end, and the original error is its cause", async () => {
    const fails = workflow("fails", (ctx) =>
      ctx.step(
        "call",
        () => {
          throw Object.assign(new TypeError("bad answer"), { status: 503 });
        },
        { retry: { attempts: 2, fixed: "1s" } },
      ),
    );
    const sleeps = workflow({ name: "sleeps", timeout: "1 day" }, (ctx) => ctx.sleep("nap", "2 days"));
    const t = await openEngine(fails, sleeps);
    const outcome = (run: RunHandle<unknown>) => run.result().catch((error: unknown) => error);
    const failed = await outcome(await t.client.start(fails));
    expect(failed).toBeInstanceOf(RunFailedError);
    const cause = failed instanceof RunFailedError ? failed.cause : undefined;
    expect(cause).toBeInstanceOf(RecordedError);
    expect(cause).toMatchObject({ name: "TypeError", message: "bad answer", kind: "ServiceUnavailable", attempts: 2 });
    const [canceled, terminated, late] = await t.client.startMany([
      { workflow: sleeps },
      { workflow: sleeps },
      { workflow: sleeps },
    ]);
    await canceled?.cancel();
    await terminated?.terminate();
    expect(canceled && (await outcome(canceled))).toBeInstanceOf(RunCanceledError);
    expect(terminated && (await outcome(terminated))).toBeInstanceOf(RunTerminatedError);
    expect(late && (await outcome(late))).toBeInstanceOf(RunTimedOutError);
    expect(new RetryableError("busy", { after: "5s" }).afterMs).toBe(5_000);
  });
});

describe("tests", () => {
  test("testEngine runs, mocks and advances; replay and crashEverywhere check a workflow", async () => {
    const quote = workflow("quote", async (ctx, item: string) => {
      const price = await ctx.step("price", () => item.length);
      await ctx.sleep("nap", "3 days");
      return price;
    });
    const t = await testEngine({ workflows: [quote], seed: 7 });
    expect(await t.run(quote, "tea")).toBe(3);
    t.mock("price", ({ attempt }) => 100 + attempt);
    const run = await t.client.start(quote, "tea");
    await t.clock.advance("3 days");
    expect(await run.result()).toBe(101);
    expect(await replay(quote, await run.history())).toEqual({ output: 101 });
    await t.close();
    const report = await crashEverywhere(quote, "tea");
    expect(report.output).toBe(3);
    expect(report.crashes).toBeGreaterThan(3);
  });
});
