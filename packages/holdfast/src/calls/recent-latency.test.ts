import { expect, test } from "vitest";
import { RecentLatency } from "./recent-latency.ts";

test("knows nothing before the first call", () => {
  expect(new RecentLatency().percentiles(0)).toBeUndefined();
});

test("has the median and the slowest of the last 256 calls", () => {
  const recent = new RecentLatency();
  for (let ms = 1; ms <= 100; ms++) recent.add(ms, 0);
  expect(recent.percentiles(0)).toEqual({ p50Ms: 50, p99Ms: 99 });
  recent.add(9_999, 0);
  for (let i = 0; i < 256; i++) recent.add(7, 0);
  expect(recent.percentiles(0)).toEqual({ p50Ms: 7, p99Ms: 7 });
});

test("forgets calls that are older than a minute, however few have come since", () => {
  const recent = new RecentLatency();
  for (let i = 0; i < 20; i++) recent.add(30_000, 0);
  recent.add(2, 50_000);
  expect(recent.percentiles(60_000)?.p50Ms).toBe(30_000);
  expect(recent.percentiles(61_000)).toEqual({ p50Ms: 2, p99Ms: 2 });
  expect(recent.percentiles(120_000)).toBeUndefined();
});
