import { type StepView, workflow } from "holdfast";
import { replay } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import type { MemoryTransaction } from "../../src/memory/transactions/transact.ts";
import { askTransaction } from "../../src/replay/context/run-context.ts";
import { type Fleet, openFleet } from "../lab/fleet.ts";

/** Work that takes that long on the fleet's clock. */
function taking(fleet: Fleet, ms: number): Promise<void> {
  return new Promise((resolve) => void fleet.clock.setTimer(ms, resolve));
}

function lengthOf(step: StepView | undefined): number {
  return Number(step?.endedAt) - Number(step?.startedAt);
}

describe("the times of a step", () => {
  test("span the whole of its execution, also when it succeeds at once", async () => {
    const fleet = openFleet();
    const job = workflow("job", async (ctx) => {
      await ctx.step("short", () => taking(fleet, 500));
      await ctx.step("long", () => taking(fleet, 90_000));
    });
    await fleet.worker({ workflows: [job] });
    const run = await fleet.client().start(job);
    const begun = fleet.clock.now();
    await fleet.result(run);
    const [short, long] = await run.steps();
    expect([lengthOf(short), lengthOf(long)]).toEqual([500, 90_000]);
    expect(short).toMatchObject({ startedAt: new Date(begun), endedAt: new Date(begun + 500) });
    expect(long).toMatchObject({ startedAt: new Date(begun + 500), endedAt: new Date(begun + 90_500) });
    expect(await replay(job, await run.history())).toEqual({ output: undefined });
  });

  test("begin, for a step that still runs, when it really began", async () => {
    const fleet = openFleet();
    const job = workflow("job", (ctx) => ctx.step("long", () => taking(fleet, 90_000)));
    await fleet.worker({ workflows: [job] });
    const run = await fleet.client().start(job);
    await fleet.clock.settle();
    const begun = fleet.clock.now();
    await fleet.clock.advance("1 minute");
    expect(await run.steps()).toMatchObject([{ op: "long", status: "running", startedAt: new Date(begun) }]);
  });

  test("run from the start of the first attempt to the end of the last", async () => {
    const fleet = openFleet();
    const job = workflow("job", (ctx) =>
      ctx.step(
        "flaky",
        async ({ attempt }) => {
          await taking(fleet, attempt * 200);
          if (attempt < 3) throw new Error("not yet");
        },
        { retry: { attempts: 3, fixed: "10s" } },
      ),
    );
    await fleet.worker({ workflows: [job] });
    const run = await fleet.client().start(job);
    await fleet.result(run);
    expect((await run.steps()).map(lengthOf)).toEqual([200 + 10_000 + 400 + 10_000 + 600]);
    expect((await run.history()).map(({ type, ms }) => [type, ms])).toEqual([
      ["run_started", undefined],
      ["step_attempt_failed", 200],
      ["step_attempt_failed", 400],
      ["step_completed", 600],
      ["run_completed", undefined],
    ]);
  });

  test("are known of a step that fails for good, or runs out of time", async () => {
    const fleet = openFleet();
    const job = workflow("job", async (ctx) => {
      const fail = () => taking(fleet, 250).then(() => Promise.reject(new Error("no")));
      await ctx.step("bad", fail, { retry: "none" }).catch(() => {});
      await ctx.step("slow", () => taking(fleet, 5_000), { retry: "none", timeout: "700ms" }).catch(() => {});
    });
    await fleet.worker({ workflows: [job] });
    const run = await fleet.client().start(job);
    await fleet.result(run);
    expect((await run.steps()).map(lengthOf)).toEqual([250, 700]);
  });

  test("are known of a transaction", async () => {
    const fleet = openFleet();
    const job = workflow("job", (ctx) =>
      askTransaction(ctx, "move", { kind: "memory", fn: (_tx: MemoryTransaction) => taking(fleet, 400) }),
    );
    await fleet.worker({ workflows: [job] });
    const run = await fleet.client().start(job);
    await fleet.result(run);
    expect((await run.steps()).map(lengthOf)).toEqual([400]);
  });

  test("cost a step that takes less than a millisecond nothing; the first one names the worker", async () => {
    const fleet = openFleet();
    const job = workflow("job", async (ctx) => {
      await ctx.step("sync", () => 1);
      await ctx.step("async", async () => 2);
    });
    await fleet.worker({ workflows: [job] });
    const run = await fleet.client().start(job);
    await fleet.result(run);
    const [page] = await fleet.store.histories.read({
      runs: [{ namespace: "default", runId: run.runId, afterSeq: 0 }],
      limitPerRun: 100,
    });
    expect(page?.map(({ op, meta }) => [op, meta])).toEqual([
      ["sync", { worker: expect.any(String) }],
      ["async", undefined],
    ]);
    expect((await run.steps()).map(lengthOf)).toEqual([0, 0]);
  });
});
