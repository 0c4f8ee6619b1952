import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DURATION_MS_MAX, type Duration, durationToMs, formatDuration } from "./duration.ts";

describe("durationToMs", () => {
  const readable: [Duration, number][] = [
    ["250ms", 250],
    ["30s", 30_000],
    ["1 day", 86_400_000],
    ["2h 30m", 9_000_000],
    ["2h30m", 9_000_000],
    ["  2 h  30 m ", 9_000_000],
    ["30m 2h", 9_000_000],
    ["1.5h", 5_400_000],
    [".5s", 500],
    ["3 days", 259_200_000],
    ["2 weeks", 1_209_600_000],
    ["1w 2d 3h 4m 5s 6ms", 788_645_006],
    ["1 Day", 86_400_000],
    ["5 MINUTES", 300_000],
    ["90 sec", 90_000],
    ["0s", 0],
    ["0.1ms", 1],
    ["0.0001ms", 1],
    ["0.07m", 4_200],
    ["1.005s", 1_005],
    ["1.0001s", 1_001],
    ["36525 days", DURATION_MS_MAX],
    [{ minutes: 5 }, 300_000],
    [{ hours: 2, minutes: 30 }, 9_000_000],
    [{ weeks: 1, days: 1, hours: 1, minutes: 1, seconds: 1, milliseconds: 1 }, 694_861_001],
    [{ milliseconds: 0 }, 0],
    [{ seconds: 0.0004 }, 1],
    [{ minutes: 0.07 }, 4_200],
  ];
  it.each(readable)("reads %j as %d ms", (duration, ms) => {
    expect(durationToMs(duration)).toBe(ms);
  });

  const unreadable: unknown[] = [
    "",
    "   ",
    "5",
    "0",
    "1.5",
    "s",
    "-5s",
    "+5s",
    "5 parsecs",
    "5M",
    "5 s and 3 m",
    "1h 1h",
    "1h, 1m",
    "1..5s",
    "1e3ms",
    "5s 3",
    "∞s",
    "PT5M",
    "36525 days 1ms",
    `${"9".repeat(90)}s`,
    `${" ".repeat(200)}5s`,
    5,
    0,
    Number.NaN,
    null,
    undefined,
    true,
    [],
    ["5s"],
    {},
    { minutes: undefined },
    { minutes: -1 },
    { hours: 1, minutes: -5 },
    { minutes: Number.NaN },
    { minutes: Number.POSITIVE_INFINITY },
    { minutes: "5" },
    { minute: 5 },
    { minutes: 5, years: 1 },
    { days: 36_526 },
    { toString: 5 },
  ];
  it.each(unreadable)("refuses %j", (duration) => {
    expect(durationToMs(duration as Duration)).toBeUndefined();
  });
});

describe("formatDuration", () => {
  it.each([
    [0, "0ms"],
    [250, "250ms"],
    [1_000, "1s"],
    [9_000_000, "2h 30m"],
    [86_400_000 * 9, "9d"],
    [90_061_001, "1d 1h 1m 1s 1ms"],
    [0.2, "1ms"],
    [-1_500, "-1s 500ms"],
    [Number.POSITIVE_INFINITY, "Infinityms"],
  ])("prints %d ms as %s", (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  it("prints what durationToMs reads back", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: DURATION_MS_MAX }), (ms) => durationToMs(formatDuration(ms)) === ms),
    );
  });
});
