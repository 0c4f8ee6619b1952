import { describe, expect, test } from "vitest";
import { Pace } from "./pace.ts";

function paceAt(): { pace: Pace; at: (ms: number) => Pace } {
  let now = 1_000_000;
  const pace = new Pace(() => now);
  return {
    pace,
    at: (ms) => {
      now = 1_000_000 + ms;
      return pace;
    },
  };
}

describe("the pace of a worker", () => {
  test("counts attempts, failures, the mean and the longest", () => {
    const { pace, at } = paceAt();
    pace.ended(10, true);
    pace.ended(20, false);
    pace.ended(1, true);
    expect(at(10_000).take()).toEqual({
      overMs: 10_000,
      attempts: 3,
      failed: 1,
      attemptMsMean: 10.3,
      attemptMsMax: 20,
    });
  });

  test("of a worker that has done nothing is zero, not a division by it", () => {
    expect(paceAt().at(5).take()).toEqual({ overMs: 5, attempts: 0, failed: 0, attemptMsMean: 0, attemptMsMax: 0 });
  });

  test("tells of the last minute, heartbeat by heartbeat", () => {
    const { at } = paceAt();
    const seen: [number, number][] = [];
    for (let beat = 1; beat <= 20; beat++) {
      at(beat * 10_000 - 1).ended(1, true);
      const { overMs, attempts } = at(beat * 10_000).take();
      seen.push([overMs, attempts]);
    }
    expect(seen.slice(0, 3)).toEqual([
      [10_000, 1],
      [20_000, 2],
      [30_000, 3],
    ]);
    // The stretch that reaches into the minute counts as a whole, so the rate is right.
    for (const [overMs, attempts] of seen.slice(7)) expect(overMs).toBe(attempts * 10_000);
    expect(seen.at(-1)).toEqual([70_000, 7]);
  });

  test("tells of the time since the heartbeat before if that is longer ago than a minute", () => {
    const { at } = paceAt();
    for (let beat = 1; beat <= 5; beat++) {
      at(beat * 100_000 - 1).ended(1, true);
      expect(at(beat * 100_000).take()).toMatchObject({ overMs: 100_000, attempts: 1 });
    }
  });
});
