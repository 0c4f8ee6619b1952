import { expect, test } from "vitest";
import { silentLogger } from "../../ports/logger.ts";
import type { PurgeRunsParams, PurgeRunsResult, Store } from "../../ports/store.ts";
import { VirtualClock } from "../../testing/virtual-clock.ts";
import { RetentionDuty } from "./retention-duty.ts";

const BATCH_MS = 40;
const BATCH = 250;

interface Sample {
  readonly endedPerSecond: number;
  readonly old: number;
  readonly minutes: number;
  /** How long a batch of 250 is at work, and how long every call waits for its turn. */
  readonly batchMs?: number;
  readonly waitMs?: number;
}

/** How much is deleted in each of so many minutes. */
async function deletedPerMinute(sample: Sample): Promise<number[]> {
  const { endedPerSecond, minutes, batchMs = BATCH_MS, waitMs = 0 } = sample;
  const clock = new VirtualClock();
  let left = sample.old;
  let deleted = 0;
  const waits = (ms: number) => new Promise<void>((resolve) => void clock.setTimer(ms, resolve));
  const purge = async ({ limit }: PurgeRunsParams): Promise<PurgeRunsResult> => {
    const purged = Math.min(limit, left);
    await waits(waitMs + (batchMs * purged) / BATCH);
    left -= purged;
    deleted += purged;
    return { purged, more: left > 0, last: { endedAt: deleted, runId: "" } };
  };
  const readClock = async () => {
    if (waitMs > 0) await waits(waitMs);
    return { now: clock.now() };
  };
  const parts = {
    readClock,
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
  const [first = 0, , third = 0] = await deletedPerMinute({ endedPerSecond: 0, old: 1_000_000, minutes: 3 });
  // A batch takes 40 ms, and 800 ms are rested.
  expect(first / 60).toBeGreaterThan(200);
  expect(first / 60).toBeLessThan(320);
  expect(third).toBeLessThanOrEqual(first * 1.1);
});

test("where a batch is at work for long, that is a tenth of the time at most", async () => {
  const [first = 0, second = 0] = await deletedPerMinute({
    endedPerSecond: 0,
    old: 1_000_000,
    minutes: 2,
    batchMs: 500,
  });
  const most = (0.1 * 60_000) / 500;
  for (const batches of [first / BATCH, second / BATCH]) {
    expect(batches).toBeLessThanOrEqual(most);
    expect(batches).toBeGreaterThan(0.8 * most);
  }
});

test("what a batch waits for its turn is no work, and so no reason to rest longer", async () => {
  const [first = 0] = await deletedPerMinute({ endedPerSecond: 0, old: 1_000_000, minutes: 1, waitMs: 300 });
  // Two waits, 40 ms of work, 800 ms of rest.
  const most = 60_000 / (2 * 300 + 40 + 800);
  expect(first / BATCH).toBeLessThanOrEqual(most + 1);
  expect(first / BATCH).toBeGreaterThan(0.8 * most);
});

test("where more ends than that pace deletes, it is faster, and catches up", async () => {
  const perMinute = await deletedPerMinute({ endedPerSecond: 1_000, old: 100_000, minutes: 6 });
  // The first round is at the usual pace.
  expect(perMinute[0] ?? 0).toBeLessThan(0.7 * (perMinute[2] ?? 0));
  expect((perMinute[2] ?? 0) / 60).toBeGreaterThan(1_400);
  const deleted = perMinute.reduce((sum, one) => sum + one, 0);
  // Everything of the backlog, and what has ended since, but for the last moments.
  expect(deleted).toBeGreaterThan(100_000 + 6 * 60_000 - 60_000);
});

test("it keeps up where thousands end in a second and every call waits long for its turn", async () => {
  const sample = { endedPerSecond: 1_000, old: 100_000, minutes: 4, batchMs: 10, waitMs: 200 };
  const perMinute = await deletedPerMinute(sample);
  expect((perMinute[2] ?? 0) / 60).toBeGreaterThan(1_400);
});

test("however much ends, it rests twice as long as it works", async () => {
  const perMinute = await deletedPerMinute({ endedPerSecond: 50_000, old: 1_000_000, minutes: 3 });
  const most = BATCH / (3 * (BATCH_MS / 1_000));
  expect((perMinute[2] ?? 0) / 60).toBeLessThanOrEqual(most * 1.05);
  expect((perMinute[2] ?? 0) / 60).toBeGreaterThan(most * 0.8);
});
