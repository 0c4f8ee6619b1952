import { workflow } from "holdfast";
import type { StoreHooks } from "holdfast/adapter";
import { describe, expect, test } from "vitest";
import { openWorld, type World } from "../lab/world.ts";

/** A claim whose answer is lost and which takes effect once more, after its repetition, as on a connection that was cut. */
function takingEffectTwice(solo: boolean): StoreHooks {
  let done = false;
  return {
    "runs.claim": async (params, call) => {
      if (done || params.solo !== solo) return call(params);
      const answer = await call(params);
      if (answer.runs.length === 0) return answer;
      done = true;
      await call(params);
      return call({ ...params, again: true });
    },
  };
}

/** A workflow whose step takes a second, and how many of these steps ran at the same time. */
function slowly(world: World) {
  const seen = { running: 0, most: 0 };
  const slow = workflow("slow", (ctx) =>
    ctx.step("s", async () => {
      seen.running += 1;
      seen.most = Math.max(seen.most, seen.running);
      await world.later(1_000);
      seen.running -= 1;
    }),
  );
  return { slow, seen };
}

describe("a claim that takes effect twice", () => {
  test("does not bring a second suspect beside the first", async () => {
    const world = openWorld();
    const { slow, seen } = slowly(world);
    const runs = await world.client().startMany([{ workflow: slow }, { workflow: slow }]);
    for (const run of runs) Object.assign(world.row(run), { deaths: 2, suspect: true });
    await world.worker(world.client({ hooks: takingEffectTwice(true) }), { workflows: [slow] });
    await Promise.all(runs.map((run) => world.result(run)));
    expect(seen.most).toBe(1);
  });

  test("does not bring more runs than the worker has room for", async () => {
    const world = openWorld();
    const { slow, seen } = slowly(world);
    const runs = await world.client().startMany(Array.from({ length: 6 }, () => ({ workflow: slow })));
    await world.worker(world.client({ hooks: takingEffectTwice(false) }), { workflows: [slow], concurrency: 2 });
    await Promise.all(runs.map((run) => world.result(run)));
    expect(seen.most).toBe(2);
  });
});
