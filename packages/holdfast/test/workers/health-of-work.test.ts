import { workflow } from "holdfast";
import { expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";

const idle = workflow("idle", async () => {});

test("health counts what waits in each queue, and is degraded once that takes five minutes", async () => {
  const fleet = openFleet();
  const client = fleet.client();
  await fleet.worker({ workflows: [idle] });
  expect((await client.health()).queues).toEqual([]);
  for (const _ of [1, 2]) await client.start("nobody", undefined);
  const since = new Date(fleet.clock.now());
  await fleet.clock.advance("4m");
  expect(await client.health()).toMatchObject({
    status: "healthy",
    queues: [{ name: "default", health: "healthy", runs: { waiting: 2, oldestDueAt: since }, tasks: { waiting: 0 } }],
  });
  await fleet.clock.advance("1m");
  expect(await client.health()).toMatchObject({
    status: "degraded",
    reasons: ['2 runs wait in queue "default", the oldest for 5m.'],
    queues: [{ health: "degraded" }],
  });
});

test("health says how late timers are, and is degraded by a minute", async () => {
  const fleet = openFleet();
  const naps = workflow("naps", (ctx) => ctx.sleep("nap", "1h"));
  const worker = await fleet.worker({ workflows: [naps] });
  const client = fleet.client();
  await client.start(naps);
  await fleet.clock.settle();
  await fleet.clock.until(worker.stop());
  await fleet.worker({ workflows: [idle] });
  await fleet.clock.advance("59m");
  expect((await client.health()).timers).toEqual({ late: 0, worstMs: 0 });
  await fleet.clock.advance("90s");
  const { status, timers, reasons } = await client.health();
  expect([status, timers.late]).toEqual(["healthy", 1]);
  expect(timers.worstMs).toBeGreaterThan(20_000);
  expect(reasons).toEqual([]);
  await fleet.clock.advance("1m");
  expect(await client.health()).toMatchObject({
    status: "degraded",
    reasons: [expect.stringMatching(/^1 timer is late, the worst by 1m/)],
  });
});

test("a client is ready while one of its workers takes work, though another one has left on purpose", async () => {
  const fleet = openFleet();
  const client = fleet.client();
  const quiet = { workflows: [idle], lease: { weeks: 4600 } } as const;
  const [one, two] = [client.worker({ ...quiet, name: "one" }), client.worker({ ...quiet, name: "two" })];
  await fleet.clock.until(one.start());
  expect(await client.ready()).toEqual({ ready: false, reasons: ["Worker two takes no work."] });
  await fleet.clock.until(two.start());
  expect((await client.ready()).ready).toBe(true);
  await fleet.clock.until(one.drain());
  expect(await client.ready()).toEqual({ ready: true, reasons: [] });
  await fleet.clock.until(two.stop());
  expect((await client.ready()).ready).toBe(false);
});
