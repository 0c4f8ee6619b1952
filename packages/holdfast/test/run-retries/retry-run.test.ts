import { NonRetryableError, RetryableError, workflow } from "holdfast";
import { crashEverywhere, testEngine } from "holdfast/testing";
import { expect, test } from "vitest";

test("a failed run stays failed unless a workflow retry is asked for", async () => {
  const once = workflow("once", (ctx) => ctx.step("no", () => Promise.reject(new Error("no")), { retry: "none" }));
  const t = await testEngine({ workflows: [once] });
  await expect(t.run(once)).rejects.toMatchObject({ code: "run_failed", cause: { message: "no", attempts: 1 } });
  await t.close();
});

test("a workflow retry resumes at the failed op after its backoff, with completed steps kept", async () => {
  const counts = { first: 0, second: 0 };
  const twice = workflow({ name: "twice", retry: { attempts: 3, fixed: "1 hour" } }, async (ctx) => {
    const first = await ctx.step("first", () => ++counts.first);
    const second = await ctx.step(
      "second",
      () => {
        counts.second += 1;
        if (counts.second < 3) throw new Error(`down ${counts.second}`);
        return "up";
      },
      { retry: "none" },
    );
    return { first, second };
  });
  const t = await testEngine({ workflows: [twice] });
  const began = t.clock.now();
  const run = await t.client.start(twice);
  expect(await run.result()).toEqual({ first: 1, second: "up" });
  expect(counts).toEqual({ first: 1, second: 3 });
  expect(t.clock.now() - began).toBe(2 * 3600 * 1000);
  const retried = (await run.history()).filter((event) => event.type === "run_retried");
  expect(retried.map((event) => [event.attempt, event.forgets, event.error?.message])).toEqual([
    [1, ["second"], "down 1"],
    [2, ["second"], "down 2"],
  ]);
  await t.close();
});

test("a workflow retry waits for as long as the error asks, as a step's retry does", async () => {
  let calls = 0;
  const limited = workflow({ name: "limited", retry: { attempts: 4, fixed: "1 minute" } }, async (ctx) => {
    const call = (): string => {
      calls += 1;
      if (calls === 1) throw new RetryableError("slow down", { after: "1 hour" });
      if (calls === 2) throw new RetryableError("nearly", { after: "1s" });
      if (calls === 3) throw new RetryableError("whenever you like");
      return "done";
    };
    try {
      return await ctx.step("call", call, { retry: "none" });
    } catch (cause) {
      throw calls === 1 ? cause : new Error("the call failed", { cause });
    }
  });
  const t = await testEngine({ workflows: [limited] });
  const began = t.clock.now();
  const run = await t.client.start(limited);
  expect(await run.result()).toBe("done");
  const retried = (await run.history()).filter((event) => event.type === "run_retried");
  const waits = retried.map(({ retryAt, at }) => Number(retryAt) - Number(at));
  expect(waits).toEqual([3_600_000, 60_000, 60_000]);
  expect(t.clock.now() - began).toBe(3_600_000 + 2 * 60_000);
  await t.close();
});

test("a workflow retry gives up after its attempts, and does not repeat what cannot be retried", async () => {
  let calls = 0;
  const fails = workflow({ name: "fails", retry: { attempts: 3, fixed: "1s" } }, (ctx, input: { final: boolean }) =>
    ctx.step(
      "no",
      () => {
        calls += 1;
        throw input.final ? new NonRetryableError("never") : new Error("not now");
      },
      { retry: "none" },
    ),
  );
  const t = await testEngine({ workflows: [fails] });
  await expect(t.run(fails, { final: false })).rejects.toMatchObject({ cause: { message: "not now" } });
  expect(calls).toBe(3);
  calls = 0;
  await expect(t.run(fails, { final: true })).rejects.toMatchObject({ cause: { message: "never" } });
  expect(calls).toBe(1);
  await t.close();
});

test("what the code did because of a failure that is taken back does not count as history any more", async () => {
  let healthy = false;
  const log: string[] = [];
  const careful = workflow("careful", async (ctx) => {
    const side = ctx.step("side", async () => "side");
    try {
      await ctx.step(
        "main",
        () => {
          if (!healthy) throw new Error("ill");
          return 1;
        },
        { retry: "none" },
      );
    } catch (error) {
      await ctx.sleep("breathe", "1 minute");
      await ctx.step("report", () => void log.push("reported"));
      throw error;
    }
    return [await side, await ctx.step("after", () => "after")];
  });
  const t = await testEngine({ workflows: [careful] });
  const run = await t.client.start(careful, undefined, { id: "c" });
  await expect(run.result()).rejects.toMatchObject({ code: "run_failed" });
  healthy = true;
  await run.retry();
  expect(await run.result()).toEqual(["side", "after"]);
  expect(log).toEqual(["reported"]);
  await expect(run.retry()).rejects.toMatchObject({
    code: "run_not_failed",
    message: expect.stringContaining("completed"),
  });
  await t.close();
});

test("a compensation that failed is resumed by retry, and nothing else", async () => {
  let bank = false;
  const calls: string[] = [];
  const saga = workflow("saga", async (ctx) => {
    await ctx.step("charge", () => calls.push("charge"), {
      compensate: () => {
        calls.push("refund");
        if (!bank) throw new Error("bank closed");
      },
    });
    throw new Error("no stock");
  });
  const t = await testEngine({ workflows: [saga] });
  const run = await t.client.start(saga, undefined, { id: "s" });
  await expect(run.result()).rejects.toMatchObject({ cause: { message: "no stock" } });
  expect(await run.describe()).toMatchObject({ status: "failed", compensation: "compensation_failed" });
  bank = true;
  calls.length = 0;
  await run.retry();
  await expect(run.result()).rejects.toMatchObject({ cause: { message: "no stock" } });
  expect(calls).toEqual(["refund"]);
  expect(await run.describe()).toMatchObject({ status: "failed", compensation: "compensated" });
  await expect(run.retry()).rejects.toMatchObject({ code: "run_closed" });
  await t.close();
});

test("a retry of failed compensations does not repeat those that succeeded after them", async () => {
  const broken = new Set(["d", "b"]);
  const undone: string[] = [];
  const saga = workflow("saga", async (ctx) => {
    for (const name of ["a", "b", "c", "d", "e"]) {
      const undo = (): void => {
        undone.push(name);
        if (broken.has(name)) throw new NonRetryableError(`cannot undo ${name}`);
      };
      await ctx.step(name, () => name, { compensate: undo });
    }
    throw new Error("no stock");
  });
  const t = await testEngine({ workflows: [saga] });
  const run = await t.client.start(saga, undefined, { id: "s" });
  const tried = async (): Promise<unknown[]> => {
    undone.length = 0;
    await expect(run.result()).rejects.toMatchObject({ cause: { message: "no stock" } });
    return [undone.join(""), (await run.describe()).compensation];
  };
  expect(await tried()).toEqual(["edcba", "compensation_failed"]);
  await run.retry();
  expect(await tried()).toEqual(["db", "compensation_failed"]);
  broken.delete("d");
  await run.retry();
  expect(await tried()).toEqual(["db", "compensation_failed"]);
  broken.delete("b");
  await run.retry();
  expect(await tried()).toEqual(["b", "compensated"]);
  const steps = await run.steps();
  expect(steps.filter(({ status }) => status !== "completed")).toEqual([]);
  await t.close();
});

test("workflow retries come before compensation, and survive a crash anywhere", async () => {
  let failures = 0;
  const undone: string[] = [];
  const saga = workflow({ name: "patient", retry: { attempts: 2, fixed: "1s" } }, async (ctx) => {
    await ctx.step("charge", () => "paid", { compensate: () => void undone.push("refund") });
    return ctx.step(
      "ship",
      () => {
        failures += 1;
        if (failures === 1) throw new Error("no truck");
        return "shipped";
      },
      { retry: "none" },
    );
  });
  const effects = {
    reset: () => {
      failures = 0;
    },
    snapshot: () => undone.length,
  };
  const report = await crashEverywhere(saga, undefined, { effects });
  expect(report.output).toBe("shipped");
  expect(undone).toEqual([]);
});
