/** Steps that must run at most once, and that a person's retry of their run leaves alone. */
import { type Context, type RunHandle, type StepOptions, workflow } from "holdfast";
import { expect, test } from "vitest";
import type { EndErrorRecord } from "../../src/model/error-record.ts";
import { openWorld, type World } from "../lab/world.ts";

const ONCE: StepOptions<unknown> = { onCrash: "fail", timeout: "3s", retry: "none" };
const PLAIN: StepOptions<unknown> = { timeout: "3s", retry: "none" };

interface Failed {
  readonly run: RunHandle;
  readonly calls: { pay: number; report: number };
  readonly forgets: () => unknown;
}

/** A run whose step `pay` has timed out, after which its step `report` has failed. `thrown` is the error that it failed with. */
async function failedRun(
  world: World,
  options: StepOptions<unknown>,
  thrown: (reasons: { readonly pay: unknown; readonly report: unknown }) => unknown,
): Promise<Failed> {
  const calls = { pay: 0, report: 0 };
  const client = world.client();
  const pay = (): unknown => (++calls.pay === 1 ? new Promise(() => {}) : "paid");
  const report = async (): Promise<string> => {
    await world.later(5_000);
    if (++calls.report === 1) throw new Error("the printer is down");
    return "reported";
  };
  const job = workflow("job", async (ctx: Context) => {
    const both = [ctx.step("pay", pay, options), ctx.step("report", report, { retry: "none" })];
    const [paid, reported] = await Promise.allSettled(both);
    if (reported?.status !== "rejected") return [paid?.status, reported?.value];
    throw thrown({ pay: paid?.status === "rejected" && paid.reason, report: reported.reason });
  });
  await world.worker(client, { workflows: [job] });
  const run = await client.start(job);
  await expect(world.result(run)).rejects.toMatchObject({ code: "run_failed" });
  const forgets = (): unknown => world.events(run).find(({ type }) => type === "run_retried")?.meta?.forgets;
  return { run, calls, forgets };
}

/** Its end is as it was recorded before it said what a retry leaves alone. */
function asRecordedBefore(world: World, run: RunHandle): void {
  const row = world.row(run);
  const { retryKeeps, ...error } = (row.error ?? {}) as EndErrorRecord;
  expect(retryKeeps).toBeDefined();
  row.error = error;
}

test.each(["now", "before"])(
  "retry() does not repeat a step that must run at most once, may have taken effect, and is not what the run failed of (recorded %s)",
  async (recorded) => {
    const world = openWorld();
    const { run, calls, forgets } = await failedRun(world, ONCE, ({ report }) => report);
    if (recorded === "before") asRecordedBefore(world, run);
    await run.retry();
    expect(await world.result(run)).toEqual(["rejected", "reported"]);
    expect(calls).toEqual({ pay: 1, report: 2 });
    expect(forgets()).toEqual(["report"]);
  },
);

test.each(["now", "before"])("retry() repeats a plain step that has timed out (recorded %s)", async (recorded) => {
  const world = openWorld();
  const { run, calls } = await failedRun(world, PLAIN, ({ report }) => report);
  if (recorded === "before") asRecordedBefore(world, run);
  await run.retry();
  expect(await world.result(run)).toEqual(["fulfilled", "reported"]);
  expect(calls).toEqual({ pay: 2, report: 2 });
});

test("retry() repeats a step that must run at most once if the run has failed of it: a person has decided that", async () => {
  const world = openWorld();
  const { run, calls, forgets } = await failedRun(
    world,
    ONCE,
    ({ pay, report }) => new AggregateError([report, pay], "both have failed"),
  );
  await run.retry();
  expect(await world.result(run)).toEqual(["fulfilled", "reported"]);
  expect(calls).toEqual({ pay: 2, report: 2 });
  expect(forgets()).toEqual(["pay", "report"]);
});
