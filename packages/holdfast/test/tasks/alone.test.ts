import { HoldfastError, task, workflow } from "holdfast";
import { expect, test } from "vitest";
import { deferred } from "../lab/deferred.ts";
import { type Fleet, openFleet } from "../lab/fleet.ts";

const ended = deferred<string>();
const long = task("long", async (reports: boolean, t) => {
  if (reports) await t.heartbeat({ row: 1 });
  return ended.promise;
});
const short = task("short", () => "short");
const main = workflow("main", async (ctx, reports: boolean) => ctx.task(long, reports));
const other = workflow("other", async (ctx) => ctx.task(short));
const plain = workflow("plain", async (ctx) => ctx.step("step", () => "plain"));

/** A run whose task two workers have died of, and a worker that executes it alone. */
async function suspect(fleet: Fleet, reports: boolean) {
  const scheduler = await fleet.worker({ workflows: [main] });
  const run = await fleet.client().start(main, reports);
  await fleet.clock.settle();
  await fleet.clock.until(scheduler.stop());
  for (const row of fleet.store.state.tasks.values()) row.suspect = true;
  const worker = await fleet.worker({ workflows: [main, other, plain], tasks: [long, short] });
  await fleet.clock.settle();
  expect(worker.activeTasks).toBe(1);
  return { run, worker };
}

test("a suspect task is executed alone", async () => {
  const fleet = openFleet();
  await suspect(fleet, false);
  const runs = [await fleet.client().start(other), await fleet.client().start(plain)];
  await fleet.clock.advance("1h");
  for (const run of runs) expect(await run.status()).toBe("pending");
});

test("once it has reported something new, its worker takes other tasks and runs again", async () => {
  const fleet = openFleet();
  const { worker } = await suspect(fleet, true);
  const client = fleet.client();
  const runs = [await client.start(other), await client.start(plain)];
  expect(await fleet.clock.until(Promise.all(runs.map((run) => run.result())))).toEqual(["short", "plain"]);
  expect(worker.activeTasks).toBe(1);
});

/** The answers to claims of suspects are lost until `answered` is set. */
function slowSoloClaims(fleet: Fleet, claim: "tasks.claim" | "runs.claim") {
  const state = { asked: false, answered: false };
  fleet.store.fault = (moment, method, params) => {
    if (method !== claim || !(params as { solo: boolean }).solo || moment === "before" || state.answered)
      return undefined;
    state.asked = true;
    return new HoldfastError("store_outcome_unknown", "not now");
  };
  return state;
}

test("its worker takes no run while the answer to the claim of a suspect task is awaited, however long", async () => {
  const fleet = openFleet();
  const happened: string[] = [];
  const job = task("job", async () => {
    happened.push("task begins");
    await new Promise<void>((resolve) => void fleet.clock.setTimer(60_000, resolve));
    happened.push("task ends");
  });
  const owner = workflow("owner", async (ctx) => void (await ctx.task(job)));
  const beside = workflow("beside", async (ctx) => ctx.step("beside", () => void happened.push("step")));
  await fleet.worker({ workflows: [owner] });
  const run = await fleet.client().start(owner);
  await fleet.clock.settle();
  for (const row of fleet.store.state.tasks.values()) row.suspect = true;
  const claims = slowSoloClaims(fleet, "tasks.claim");
  await fleet.worker({ workflows: [beside], tasks: [job], tuning: {} });
  await fleet.clock.advance("1s");
  expect(claims.asked).toBe(true);
  const other = await fleet.client().start(beside);
  await fleet.clock.advance("1m");
  claims.answered = true;
  await fleet.clock.until(Promise.all([run.result(), other.result()]));
  expect(happened).toEqual(["task begins", "task ends", "step"]);
});

test("its worker takes no task while the answer to the claim of a suspect run is awaited, however long", async () => {
  const fleet = openFleet();
  const happened: string[] = [];
  const job = task("job", () => void happened.push("task"));
  const owner = workflow("owner", async (ctx) => void (await ctx.task(job)));
  const deadly = workflow("deadly", async (ctx) =>
    ctx.step("deadly", async () => {
      happened.push("step begins");
      await new Promise<void>((resolve) => void fleet.clock.setTimer(100, resolve));
      happened.push("step ends");
    }),
  );
  const run = await fleet.client().start(deadly);
  for (const row of fleet.store.state.runs.values()) row.suspect = true;
  const claims = slowSoloClaims(fleet, "runs.claim");
  await fleet.worker({ workflows: [deadly], tasks: [job], tuning: {} });
  await fleet.clock.advance("1s");
  expect(claims.asked).toBe(true);
  await fleet.worker({ workflows: [owner] });
  const other = await fleet.client().start(owner);
  await fleet.clock.advance("1m");
  claims.answered = true;
  await fleet.clock.until(Promise.all([run.result(), other.result()]));
  expect(happened).toEqual(["step begins", "step ends", "task"]);
});
