import { expect, test } from "vitest";
import { relativeTime, shortDuration } from "./times.ts";

test.each([
  [0, "0ms"],
  [250, "250ms"],
  [1_000, "1s"],
  [1_240, "1.2s"],
  [61_000, "1m 1s"],
  [3_600_000, "1h"],
  [2 * 86_400_000 + 4 * 3_600_000, "2d 4h"],
])("%d ms are %s", (ms, text) => {
  expect(shortDuration(ms)).toBe(text);
});

test.each([
  [0, "now"],
  [-3_000, "3s ago"],
  [-7_300_000, "2h ago"],
  [120_000, "in 2m"],
  [-100 * 86_400_000, "2025-11-23"],
])("%d ms from now is %s", (distance, text) => {
  const now = Date.UTC(2026, 2, 3, 12);
  expect(relativeTime(now + distance, now)).toBe(text);
});
