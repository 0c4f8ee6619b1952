import { task, workflow } from "holdfast";
import { replay } from "holdfast/testing";
import { expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";

const double = task("double", (n: number) => n * 2);
const lonely = task("lonely", () => 1);

test("a history with tasks is replayed, and renamed tasks are found", async () => {
  const fleet = openFleet();
  const main = workflow("main", async (ctx, n: number) => {
    const first = await ctx.task(double, n);
    await ctx.race({ never: (c) => c.task(lonely), timer: (c) => c.sleep("wait", "1m") });
    return ctx.task(double, first);
  });
  await fleet.worker({ workflows: [main] });
  await fleet.worker({ tasks: [double] });
  const run = await fleet.client().start(main, 4);
  expect(await fleet.clock.until(run.result())).toBe(16);
  const history = await run.history();
  expect(await replay(main, history)).toEqual({ output: 16 });
  expect(await replay(main, JSON.parse(JSON.stringify(history)))).toEqual({ output: 16 });
  const twice = task("twice", (n: number) => n * 2);
  const renamed = workflow("main", async (ctx, n: number) => ctx.task(twice, n));
  await expect(replay(renamed, history)).rejects.toMatchObject({ code: "replay_divergence" });
});

test("a run that was retried after a dead letter is replayed", async () => {
  const fleet = openFleet();
  let broken = true;
  const ship = task({ name: "ship", retry: "none" }, () => {
    if (broken) throw new Error("no carrier");
    return "shipped";
  });
  const main = workflow("main", async (ctx) => {
    const before = await ctx.task(double, 1);
    return `${await ctx.task(ship)} ${before}`;
  });
  await fleet.forgetful({ workflows: [main] });
  await fleet.worker({ tasks: [double, ship] });
  const run = await fleet.client().start(main);
  await expect(fleet.clock.until(run.result())).rejects.toMatchObject({ code: "run_failed" });
  broken = false;
  await run.retry();
  expect(await fleet.clock.until(run.result())).toBe("shipped 2");
  expect(await replay(main, await run.history())).toEqual({ output: "shipped 2" });
});

test("the retry of a whole run executes the failed task again, and waits for those that are under way", async () => {
  const fleet = openFleet();
  const calls: string[] = [];
  const release: (() => void)[] = [];
  let broken = true;
  const slow = task("slow", async () => {
    calls.push("slow");
    await new Promise<void>((resolve) => release.push(resolve));
    return "slow";
  });
  const bad = task({ name: "bad", retry: "none" }, () => {
    calls.push("bad");
    if (broken) throw new Error("bad");
    return "good";
  });
  const main = workflow({ name: "main", retry: { attempts: 3, fixed: "1m" } }, async (ctx) =>
    Promise.all([ctx.task(slow), ctx.task(bad)]),
  );
  await fleet.forgetful({ workflows: [main] });
  await fleet.worker({ tasks: [slow, bad] });
  const run = await fleet.client().start(main);
  await fleet.clock.advance("30s");
  broken = false;
  await fleet.clock.advance("2m");
  for (const done of release) done();
  expect(await fleet.clock.until(run.result())).toEqual(["slow", "good"]);
  expect(calls).toEqual(["slow", "bad", "bad"]);
});
