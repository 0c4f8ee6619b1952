import { HoldfastError, type RunHandle, signal, workflow } from "holdfast";
import type { ReopenOutcome, ReopenParams, StoreCalls } from "holdfast/adapter";
import { describe, expect, test } from "vitest";
import { Gate, Line, openWorld, WORKER_CALLS, type World } from "../lab/world.ts";

const never = signal("never");

function retriesOf(world: World, run: RunHandle): number {
  return world.events(run).filter(({ type }) => type === "run_retried").length;
}

describe("a retry of a run", () => {
  test("that is not asked for by a failed one is refused, also when it goes on at that very moment", async () => {
    const world = openWorld();
    const go = signal("go");
    const busy = workflow("busy", async (ctx) => {
      for (;;) await ctx.receive(go);
    });
    const worker = world.client();
    await world.worker(worker, { workflows: [busy] });
    const run = await worker.start(busy, undefined, { id: "r" });
    const readHistories = async (_: unknown, call: () => ReturnType<StoreCalls["histories.read"]>) => {
      const answer = await call();
      await run.signal(go);
      await world.clock.settle();
      return answer;
    };
    const operator = world.client({ hooks: { "histories.read": readHistories } });
    await run.signal(go);
    await world.clock.settle();
    await expect(operator.get("r").retry()).rejects.toMatchObject({
      code: "run_not_failed",
      message: 'Run "r" cannot be retried: it is waiting, not failed.',
    });
    expect(retriesOf(world, run)).toBe(0);
  });

  test("by several people at once is done by one of them, and the others are told that they have changed nothing", async () => {
    const world = openWorld();
    const failing = workflow("failing", (ctx) =>
      ctx.step("s", () => Promise.reject(new Error("always")), { retry: "none" }),
    );
    await world.worker(world.client(), { workflows: [failing] });
    const run = await world.client().start(failing, undefined, { id: "r" });
    await expect(world.result(run)).rejects.toMatchObject({ code: "run_failed" });
    const people = ["ann", "bob", "cid"];
    const calls = people.map((by) => world.client().get("r").retry({ by }));
    const settled = await world.clock.until(Promise.allSettled(calls));
    const refused = settled.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
    expect(refused).toMatchObject([{ code: "run_not_failed" }, { code: "run_not_failed" }]);
    const told = people.filter((_, i) => settled[i]?.status === "fulfilled");
    const recorded = world.events(run).filter(({ type }) => type === "run_retried");
    expect(recorded.map(({ meta }) => meta?.by)).toEqual(told);
  });

  test("whose answer is lost is repeated, and has retried the run", async () => {
    const world = openWorld();
    let lost = false;
    const reopen = async (params: ReopenParams, call: (params: ReopenParams) => Promise<ReopenOutcome>) => {
      const answer = await call(params);
      if (lost) return answer;
      lost = true;
      throw new HoldfastError("store_outcome_unknown", "the connection broke");
    };
    const failing = workflow("failing", (ctx) =>
      ctx.step("s", () => Promise.reject(new Error("always")), { retry: "none" }),
    );
    await world.worker(world.client(), { workflows: [failing] });
    const run = await world.client().start(failing, undefined, { id: "r" });
    await expect(world.result(run)).rejects.toMatchObject({ code: "run_failed" });
    const operator = world.client({ hooks: { "runs.reopenIfFailed": reopen } });
    // The run has failed once more by the time of the repetition.
    await world.clock.until(operator.get("r").retry());
    expect(retriesOf(world, run)).toBe(1);
  });

  test("keeps the result of a step that ended in the very moment in which another one failed", async () => {
    const world = openWorld();
    const gate = new Gate();
    const calls = { a: 0, b: 0 };
    const both = workflow({ name: "both", retry: { attempts: 3, fixed: "1s" } }, (ctx) =>
      Promise.all([
        ctx.step(
          "a",
          async () => {
            await gate.opened;
            calls.a += 1;
            if (calls.a === 1) throw new Error("once");
            return "a";
          },
          { retry: "none" },
        ),
        ctx.step("b", async () => {
          await gate.opened;
          // Ends when the failure of the other one is known, and the run has not been suspended yet.
          for (let i = 0; i < 3; i++) await null;
          calls.b += 1;
          return "b";
        }),
      ]),
    );
    const client = world.client();
    await world.worker(client, { workflows: [both] });
    const run = await client.start(both);
    await world.clock.settle();
    gate.open();
    expect(await world.result(run)).toEqual(["a", "b"]);
    expect(calls).toEqual({ a: 2, b: 1 });
    expect(retriesOf(world, run)).toBe(1);
  });

  test("waits for a step that is under way, at most once though it is, and takes its result over", async () => {
    const world = openWorld();
    const began: string[] = [];
    const pair = workflow({ name: "pair", retry: { attempts: 5, fixed: "1s" } }, (ctx) => {
      const flaky = async (): Promise<string> => {
        began.push("flaky");
        await world.later(10);
        if (began.filter((name) => name === "flaky").length < 3) throw new Error("not yet");
        return "flaky";
      };
      const once = async (): Promise<string> => {
        began.push("once");
        await world.later(500);
        return "once";
      };
      return Promise.all([ctx.step("flaky", flaky, { retry: "none" }), ctx.step("once", once, { onCrash: "fail" })]);
    });
    const client = world.client();
    await world.worker(client, { workflows: [pair] });
    const run = await client.start(pair);
    expect(await world.result(run)).toEqual(["flaky", "once"]);
    expect(began.sort()).toEqual(["flaky", "flaky", "flaky", "once"]);
    expect(retriesOf(world, run)).toBe(2);
  });

  test("does not repeat a step that was cut off by a crash and must run at most once", async () => {
    const world = openWorld();
    const line = new Line(...WORKER_CALLS);
    let payments = 0;
    const payment = workflow({ name: "payment", retry: { attempts: 5, fixed: "1s" }, retryIf: "any" }, (ctx) =>
      ctx.step(
        "pay",
        async () => {
          payments += 1;
          await world.later(60_000);
        },
        { onCrash: "fail", retry: "none" },
      ),
    );
    const first = world.client({ hooks: line.hooks });
    await world.worker(first, { workflows: [payment], lease: "5s" });
    const run = await first.start(payment);
    await world.clock.advance("1s");
    line.down = true;
    const second = world.client();
    await world.worker(second, { workflows: [payment], lease: "5s" });
    const result = world.result(second.get(payment, run.id));
    await expect(result).rejects.toMatchObject({ code: "run_failed", cause: { recordedCode: "step_crashed" } });
    expect(payments).toBe(1);
    expect(retriesOf(world, run)).toBe(0);
  });

  test("does not hand the result of a step in a catch block to another step of the same name", async () => {
    const world = openWorld();
    const sent: string[] = [];
    let charges = 0;
    const order = workflow({ name: "order", retry: { attempts: 3, fixed: "1s" } }, async (ctx) => {
      const charge = (): void => {
        charges += 1;
        if (charges === 1) throw new Error("card declined");
      };
      const notify = (text: string) => async (): Promise<string> => {
        await world.later(200);
        sent.push(text);
        return text;
      };
      let failed = false;
      const reserve = async (): Promise<string> => {
        await ctx.step("reserve", () => world.later(100));
        return failed ? "given up" : ctx.step("notify", notify("reserved"));
      };
      try {
        const [, notified] = await Promise.all([ctx.step("charge", charge, { retry: "none" }), reserve()]);
        return notified;
      } catch (error) {
        failed = true;
        await ctx.step("notify", notify("failed"));
        throw error;
      }
    });
    const client = world.client();
    await world.worker(client, { workflows: [order] });
    const run = await client.start(order);
    expect(await world.result(run)).toBe("reserved");
    expect(sent).toEqual(["failed", "reserved"]);
    expect(charges).toBe(2);
  });

  test("does not happen for an error of the code's own, whatever properties that has", async () => {
    const world = openWorld();
    let calls = 0;
    const query = workflow({ name: "query", retry: { attempts: 3, fixed: "1s" } }, async () => {
      calls += 1;
      throw Object.assign(new Error("query failed"), { op: "insert" });
    });
    const client = world.client();
    await world.worker(client, { workflows: [query] });
    const run = await client.start(query);
    await expect(world.result(run)).rejects.toMatchObject({ code: "run_failed", cause: { message: "query failed" } });
    await world.clock.advance("10m");
    expect(calls).toBe(1);
    expect(await run.status()).toBe("failed");
    expect(world.events(run)).toEqual([]);
  });
});

describe("compensation beside retries of the run", () => {
  test("covers a step that began and failed, also when the run is canceled while it waits for its retry", async () => {
    const world = openWorld();
    const undone: string[] = [];
    const booking = workflow({ name: "booking", retry: { attempts: 3, fixed: "1h" } }, async (ctx) => {
      const book = (): never => {
        throw new Error("half done");
      };
      await ctx.step("book", book, {
        retry: "none",
        compensate: (_result, { outcome }) => void undone.push(outcome),
      });
    });
    const client = world.client();
    await world.worker(client, { workflows: [booking] });
    const run = await client.start(booking);
    await world.clock.advance("1m");
    expect(await run.status()).toBe("sleeping");
    await run.cancel();
    await expect(world.result(run)).rejects.toMatchObject({ code: "run_canceled" });
    expect(undone).toEqual(["failed"]);
    expect(await run.describe()).toMatchObject({ status: "canceled", compensation: "compensated" });
  });

  test("is finished by code that has got a retry policy only since it began", async () => {
    const world = openWorld();
    let undoCalls = 0;
    const trip = (retry: { readonly retry?: { readonly attempts: number } }) =>
      workflow({ name: "trip", ...retry }, async (ctx) => {
        const undo = (): void => {
          undoCalls += 1;
          if (undoCalls === 1) throw new Error("later");
        };
        const pay = (): never => {
          throw new Error("no funds");
        };
        await ctx.step("book", () => "booked", { compensate: undo });
        await ctx.step("pay", pay, { retry: "none" });
        await ctx.receive(never);
      });
    const before = world.client();
    const old = await world.worker(before, { workflows: [trip({})] });
    const run = await before.start("trip");
    await world.clock.advance("100ms");
    expect(await run.status()).toBe("compensating");
    await world.clock.until(old.stop());
    await world.worker(world.client(), { workflows: [trip({ retry: { attempts: 3 } })] });
    await expect(world.result(run)).rejects.toMatchObject({ code: "run_failed", cause: { message: "no funds" } });
    expect(undoCalls).toBe(2);
    expect(retriesOf(world, run)).toBe(0);
    expect(await run.describe()).toMatchObject({ status: "failed", compensation: "compensated" });
  });
});
