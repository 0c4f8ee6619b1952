import { expect, test } from "vitest";
import { RecentLatency } from "./recent-latency.ts";

test("knows nothing before the first call", () => {
  expect(new RecentLatency().percentiles()).toBeUndefined();
});

test("has the median and the slowest of the last 256 calls", () => {
  const recent = new RecentLatency();
  for (let ms = 1; ms <= 100; ms++) recent.add(ms);
  expect(recent.percentiles()).toEqual({ p50Ms: 50, p99Ms: 99 });
  recent.add(9_999);
  for (let i = 0; i < 256; i++) recent.add(7);
  expect(recent.percentiles()).toEqual({ p50Ms: 7, p99Ms: 7 });
});
