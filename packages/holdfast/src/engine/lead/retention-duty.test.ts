import { expect, test } from "vitest";
import { silentLogger } from "../../ports/logger.ts";
import type { PurgeRunsResult, Store } from "../../ports/store.ts";
import { VirtualClock } from "../../testing/virtual-clock.ts";
import { RetentionDuty } from "./retention-duty.ts";

const BATCH_MS = 40;
const BATCH = 250;

/** A store in which a batch takes its time, and how much is deleted in each of so many minutes. */
async function deletedPerMinute(
  endedPerSecond: number,
  old: number,
  minutes: number,
  batchMs = BATCH_MS,
): Promise<number[]> {
  const clock = new VirtualClock();
  let left = old;
  let deleted = 0;
  const purge = (): Promise<PurgeRunsResult> =>
    new Promise((resolve) => {
      clock.setTimer(batchMs, () => {
        const purged = Math.min(BATCH, left);
        left -= purged;
        deleted += purged;
        resolve({ purged, more: left > 0, last: { endedAt: deleted, runId: "" } });
      });
    });
  const parts = {
    readClock: async () => ({ now: clock.now() }),
    retention: { list: async () => [{ namespace: "default", rules: { completed: 60_000 } }] },
    workers: { readRates: async () => [{ ended: endedPerSecond * 3_600 }] },
    runs: { purge },
  };
  const duty = new RetentionDuty({ clock, store: parts as unknown as Store, log: silentLogger });
  duty.start();
  duty.told(true);
  const perMinute: number[] = [];
  for (let i = 0; i < minutes; i++) {
    const before = deleted;
    for (let second = 0; second < 60; second++) {
      await clock.advance("1s");
      left += endedPerSecond;
    }
    perMinute.push(deleted - before);
  }
  duty.stop();
  return perMinute;
}

test("a backlog is deleted at a pace that leaves the store to others, however large it is", async () => {
  const [first = 0, , third = 0] = await deletedPerMinute(0, 1_000_000, 3);
  // A batch takes 40 ms, and 800 ms are rested.
  expect(first / 60).toBeGreaterThan(200);
  expect(first / 60).toBeLessThan(320);
  expect(third).toBeLessThanOrEqual(first * 1.1);
});

test("where batches take long, they are a tenth of the time at most", async () => {
  const [first = 0, second = 0] = await deletedPerMinute(0, 1_000_000, 2, 500);
  const most = (0.1 * 60_000) / 500;
  for (const batches of [first / BATCH, second / BATCH]) {
    expect(batches).toBeLessThanOrEqual(most);
    expect(batches).toBeGreaterThan(0.8 * most);
  }
});

test("where more ends than that pace deletes, it is faster, and catches up", async () => {
  const perMinute = await deletedPerMinute(1_000, 100_000, 6);
  expect((perMinute[0] ?? 0) / 60).toBeLessThan(1_000);
  expect((perMinute[2] ?? 0) / 60).toBeGreaterThan(1_400);
  const deleted = perMinute.reduce((sum, one) => sum + one, 0);
  // Everything of the backlog, and what has ended since, but for the last moments.
  expect(deleted).toBeGreaterThan(100_000 + 6 * 60_000 - 60_000);
});

test("however much ends, it rests twice as long as it works", async () => {
  const perMinute = await deletedPerMinute(50_000, 1_000_000, 3);
  const most = BATCH / (3 * (BATCH_MS / 1_000));
  expect((perMinute[2] ?? 0) / 60).toBeLessThanOrEqual(most * 1.05);
  expect((perMinute[2] ?? 0) / 60).toBeGreaterThan(most * 0.8);
});
