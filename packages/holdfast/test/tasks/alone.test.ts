import { task, workflow } from "holdfast";
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
