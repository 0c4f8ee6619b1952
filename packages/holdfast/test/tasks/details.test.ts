import { HoldfastError, task, workflow } from "holdfast";
import type { StoreHooks } from "holdfast/adapter";
import { expect, test } from "vitest";
import { openWorld, type World } from "../lab/world.ts";

const TIMES = { lease: "6s", drainTimeout: "60s", tuning: {} } as const;

/** A connection on which heartbeats are slow. */
function slowBeats(world: World, ms: number): StoreHooks {
  return {
    "tasks.beat": async (_params, call) => {
      await world.later(ms);
      return call();
    },
  };
}

test("details that are on their way when the attempt fails reach the next one", async () => {
  const world = openWorld();
  const seen: unknown[] = [];
  const copy = task({ name: "copy", retry: { attempts: 2, fixed: "1s" } }, async (_: undefined, t) => {
    seen.push(t.lastDetails);
    void t.heartbeat({ row: t.attempt });
    if (t.attempt === 1) throw new Error("half way");
  });
  const main = workflow("main", async (ctx) => void (await ctx.task(copy)));
  await world.worker(world.client(), { workflows: [main], ...TIMES });
  await world.worker(world.client({ hooks: slowBeats(world, 3_000) }), { tasks: [copy], ...TIMES });
  await world.result(await world.client().start(main));
  expect(seen).toEqual([undefined, { row: 1 }]);
});

test("while the store does not answer, the reports of an attempt do not pile up: only the newest is kept", async () => {
  const world = openWorld();
  const sent: unknown[] = [];
  let down = true;
  const hooks: StoreHooks = {
    "tasks.beat": async ({ beats }, call) => {
      if (down) throw new HoldfastError("store_unavailable", "not now");
      sent.push(...beats.map(({ details }) => details && JSON.parse(new TextDecoder().decode(details))));
      return call();
    },
  };
  const copy = task("copy", async (_: undefined, t) => {
    for (let row = 1; row <= 40; row++) {
      void t.heartbeat({ row });
      await world.later(500);
    }
    down = false;
    await world.later(20_000);
  });
  const main = workflow("main", async (ctx) => void (await ctx.task(copy)));
  await world.worker(world.client(), { workflows: [main], ...TIMES });
  await world.worker(world.client({ hooks }), { tasks: [copy], ...TIMES });
  await world.result(await world.client().start(main));
  expect(sent).toEqual([{ row: 1 }, { row: 40 }]);
});

test("a worker that stops while the last details of an attempt are on their way reports its end after them", async () => {
  const world = openWorld();
  let calls = 0;
  let token = "";
  const ask = task("ask", async (_: undefined, t) => {
    calls += 1;
    token = t.token;
    void t.heartbeat({ asked: "finance" });
    return t.completeLater();
  });
  const main = workflow("main", async (ctx) => ctx.task(ask));
  await world.worker(world.client(), { workflows: [main], ...TIMES });
  const worker = await world.worker(world.client({ hooks: slowBeats(world, 4_000) }), { tasks: [ask], ...TIMES });
  const client = world.client();
  const run = await client.start(main);
  await world.clock.settle();
  await world.clock.until(worker.stop());
  await world.worker(world.client(), { tasks: [ask], ...TIMES });
  await world.clock.advance("10s");
  expect(await client.tasks.get(token)).toMatchObject({ status: "external", lastDetails: { asked: "finance" } });
  await client.tasks.complete(token, "yes");
  expect(await world.result(run)).toBe("yes");
  expect(calls).toBe(1);
});
