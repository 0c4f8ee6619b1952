import { signal, workflow } from "holdfast";
import { replay } from "holdfast/testing";
import { expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";

const go = signal<string>("go");
const order = workflow("order", async (ctx) => {
  const began = ctx.now().getTime();
  await ctx.receive(go);
  return began;
});

test("time does not go backward in a run that was paused before it began, nor in its fork", async () => {
  const fleet = openFleet();
  const run = await fleet.client().start(order);
  const createdAt = fleet.clock.now();
  await fleet.clock.advance("1h");
  await run.pause({ by: "ana" });
  const pausedAt = fleet.clock.now();
  const [waiting] = await run.history();
  expect(waiting).toMatchObject({ type: "run_started", at: new Date(createdAt) });
  expect(waiting).not.toHaveProperty("begunAt");
  await fleet.clock.advance("1h");
  await run.resume();
  await fleet.clock.advance("1h");
  const begunAt = fleet.clock.now();
  await fleet.forgetful({ workflows: [order] });
  await run.signal(go, "now");
  expect(await fleet.result(run)).toBe(begunAt);
  const fork = await run.fork({ before: 4 });
  expect(await fleet.result(fork)).toBe(begunAt);
  for (const one of [run, fork]) {
    const history = await one.history();
    expect(history[0]).toMatchObject({ at: new Date(pausedAt), begunAt: new Date(begunAt) });
    const times = history.map(({ at }) => at.getTime());
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(await one.history({ limit: 1 })).toEqual(history.slice(0, 1));
    expect(await one.history({ types: ["run_started"] })).toEqual(history.slice(0, 1));
    expect(await replay(order, history)).toEqual({ output: begunAt });
    expect(await replay(order, JSON.parse(JSON.stringify(history)))).toEqual({ output: begunAt });
    expect((await one.describe()).startedAt).toEqual(new Date(begunAt));
  }
});
