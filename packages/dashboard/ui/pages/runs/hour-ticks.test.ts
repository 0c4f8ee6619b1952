import { expect, test } from "vitest";
import { hourTicks } from "./hour-ticks.ts";

const at = (text: string) => Date.parse(text);
const shown = (from: string, to: string, zone: string) =>
  hourTicks(at(from), at(to), zone).map(
    (tick) => `${new Date(tick.at).toISOString().slice(5, 16)}${tick.day ? " day" : ""}`,
  );

test("a day has a tick every six hours, and says the day once", () => {
  expect(shown("2026-11-18T08:42:00Z", "2026-11-19T08:43:00Z", "UTC")).toEqual([
    "11-18T12:00 day",
    "11-18T18:00",
    "11-19T00:00 day",
    "11-19T06:00",
  ]);
});

test("whole hours are those of the zone, also where it is half an hour off, and after its clocks have changed", () => {
  expect(shown("2026-11-18T08:42:00Z", "2026-11-18T12:00:00Z", "Asia/Kolkata")).toEqual([
    "11-18T09:00 day",
    "11-18T09:30",
    "11-18T10:00",
    "11-18T10:30",
    "11-18T11:00",
    "11-18T11:30",
  ]);
  expect(shown("2026-10-24T20:00:00Z", "2026-10-25T12:00:00Z", "Europe/Berlin")).toEqual([
    "10-24T22:00 day",
    "10-25T02:00",
    "10-25T05:00",
    "10-25T08:00",
    "10-25T11:00",
  ]);
});

test("minutes and months have ticks too, and never too many", () => {
  for (const span of [600_000, 3_600_000, 86_400_000, 30 * 86_400_000, 3 * 365 * 86_400_000]) {
    const { length } = hourTicks(0, span, "UTC");
    expect(length).toBeGreaterThan(1);
    expect(length).toBeLessThanOrEqual(8);
  }
});
