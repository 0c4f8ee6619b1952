/** A cancel that is accepted when a run attempt has failed and the next one is not due for a long time. */
import { HoldfastError, type RunHandle, workflow } from "holdfast";
import type { StoreHooks } from "holdfast/adapter";
import { expect, test } from "vitest";
import { Gate, Line, openWorld, WORKER_CALLS, type World } from "../lab/world.ts";

const RETRY = { attempts: 5, fixed: "12h" } as const;
const fail = (): never => {
  throw new Error("down");
};

/** How long it takes from now until the run is canceled. */
async function msUntilCanceled(world: World, run: RunHandle): Promise<number> {
  const before = world.clock.now();
  await expect(world.result(run)).rejects.toMatchObject({ code: "run_canceled", data: { reason: "enough" } });
  return world.clock.now() - before;
}

test("it takes effect at once if it comes while the run is being suspended", async () => {
  const world = openWorld();
  const outside = world.client();
  let calls = 0;
  const commitRuns: StoreHooks["runs.commit"] = async ({ commits }, call) => {
    const retried = commits.some(({ events }) => events.some(({ type }) => type === "run_retried"));
    if (retried) await outside.get("r").cancel("enough");
    return call();
  };
  const client = world.client({ hooks: { "runs.commit": commitRuns } });
  const job = workflow({ name: "job", retry: RETRY }, (ctx) => {
    const bad = (): never => {
      calls += 1;
      return fail();
    };
    return ctx.step("bad", bad, { retry: "none" });
  });
  await world.worker(client, { workflows: [job] });
  const run = await client.start(job, undefined, { id: "r" });
  expect(await msUntilCanceled(world, run)).toBeLessThan(1_000);
  expect(calls).toBe(1);
});

test("it stops steps that are still running for the next run attempt", async () => {
  const world = openWorld();
  const client = world.client();
  const aborted: string[] = [];
  const endless =
    (name: string) =>
    ({ signal }: { readonly signal: AbortSignal }): Promise<void> => {
      signal.addEventListener("abort", () => aborted.push(name));
      return new Promise(() => {});
    };
  const job = workflow({ name: "job", retry: RETRY }, (ctx) =>
    Promise.all([
      ctx.step("plain", endless("plain")),
      ctx.step("once", endless("once"), { onCrash: "fail" }),
      ctx.step("bad", fail, { retry: "none" }),
    ]),
  );
  await world.worker(client, { workflows: [job] });
  const run = await client.start(job);
  await world.clock.advance("10s");
  expect(aborted).toEqual([]);
  await run.cancel("enough");
  expect(await msUntilCanceled(world, run)).toBeLessThan(1_000);
  expect(aborted).toEqual(["plain", "once"]);
});

test("a compensation learns what became of its step, which was still running", async () => {
  const world = openWorld();
  const client = world.client();
  const undone: unknown[] = [];
  const job = workflow({ name: "job", retry: RETRY }, (ctx) => {
    const book = ({ signal }: { readonly signal: AbortSignal }): Promise<string> =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve("booked after all")));
    const compensate = (result: unknown, { outcome }: { readonly outcome: string }): void =>
      void undone.push([outcome, result]);
    return Promise.all([ctx.step("book", book, { compensate }), ctx.step("bad", fail, { retry: "none" })]);
  });
  await world.worker(client, { workflows: [job] });
  const run = await client.start(job);
  await world.clock.advance("10s");
  await run.cancel("enough");
  expect(await msUntilCanceled(world, run)).toBeLessThan(1_000);
  expect(undone).toEqual([["completed", "booked after all"]]);
});

test("it takes effect as soon as the run is claimed again if the worker dies before the run is suspended", async () => {
  const world = openWorld();
  const canceled = new Gate();
  const line = new Line(...WORKER_CALLS);
  // Its answer never arrives, nor does anything that this worker sends afterwards.
  const commitRuns: StoreHooks["runs.commit"] = async ({ commits }, call) => {
    if (line.down) throw new HoldfastError("store_unavailable", "the connection was refused");
    const answer = await call();
    line.down = commits.some(({ events }) => events.some(({ type }) => type === "cancel_requested"));
    if (line.down) canceled.open();
    return answer;
  };
  const doomed = world.client({ hooks: { ...line.hooks, "runs.commit": commitRuns } });
  const undone: unknown[] = [];
  const job = workflow({ name: "job", retry: RETRY }, (ctx) => {
    const compensate = (_: unknown, { outcome }: { readonly outcome: string }): void => void undone.push(outcome);
    const book = (): Promise<void> => new Promise(() => {});
    return Promise.all([ctx.step("book", book, { compensate }), ctx.step("bad", fail, { retry: "none" })]);
  });
  await world.worker(doomed, { workflows: [job] });
  const run = await doomed.start(job);
  await world.clock.advance("10s");
  const others = world.client();
  await others.get(run.id).cancel("enough");
  await world.clock.until(canceled.opened);
  await world.worker(others, { workflows: [job] });
  expect(await msUntilCanceled(world, others.get(run.id))).toBeLessThan(120_000);
  expect(undone).toEqual(["unknown"]);
});
