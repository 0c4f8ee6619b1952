import { workflow } from "holdfast";
import type { StoreHooks } from "holdfast/adapter";
import { describe, expect, test } from "vitest";
import { openWorld } from "../lab/world.ts";

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

describe("a claim that takes effect twice", () => {
  test("does not bring a second suspect beside the first", async () => {
    const world = openWorld();
    const client = world.client();
    let running = 0;
    let most = 0;
    const calm = workflow("calm", (ctx) =>
      ctx.step("s", async () => {
        running += 1;
        most = Math.max(most, running);
        await world.later(1_000);
        running -= 1;
      }),
    );
    const runs = [];
    for (const id of ["a", "b"]) runs.push(await client.start(calm, undefined, { id }));
    for (const run of runs) Object.assign(world.row(run), { deaths: 2, suspect: true });
    await world.worker(world.client({ hooks: takingEffectTwice(true) }), { workflows: [calm] });
    await Promise.all(runs.map((run) => world.result(run)));
    expect(most).toBe(1);
  });

  test("does not bring more runs than the worker has room for", async () => {
    const world = openWorld();
    const client = world.client();
    let running = 0;
    let most = 0;
    const slow = workflow("slow", (ctx) =>
      ctx.step("s", async () => {
        running += 1;
        most = Math.max(most, running);
        await world.later(1_000);
        running -= 1;
      }),
    );
    const runs = [];
    for (let i = 0; i < 6; i++) runs.push(await client.start(slow));
    await world.worker(world.client({ hooks: takingEffectTwice(false) }), { workflows: [slow], concurrency: 2 });
    await Promise.all(runs.map((run) => world.result(run)));
    expect(most).toBe(2);
  });
});
