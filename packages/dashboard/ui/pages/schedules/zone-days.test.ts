import { expect, test } from "vitest";
import {
  clockIn,
  dateIn,
  daysOfMonth,
  describeClockChange,
  isMonth,
  isZone,
  monthIn,
  monthPlus,
  startOfDay,
} from "./zone-days.ts";

const HOUR_MS = 3_600_000;

test("a month is whole weeks from Monday to Sunday", () => {
  const days = daysOfMonth("2026-11", "UTC");
  expect(days).toHaveLength(42);
  expect(days[0]?.date).toBe("2026-10-26");
  expect(days.at(-1)?.date).toBe("2026-12-06");
  expect(days.filter(({ inMonth }) => inMonth)).toHaveLength(30);
  expect(daysOfMonth("2027-02", "UTC")).toHaveLength(28);
});

test("days follow each other without a gap in every zone", () => {
  for (const zone of ["UTC", "Europe/Berlin", "America/Santiago", "Asia/Kathmandu", "Australia/Lord_Howe"]) {
    for (const month of ["2026-03", "2026-04", "2026-09", "2026-10", "2026-11"]) {
      const days = daysOfMonth(month, zone);
      for (const [i, { endMs, startMs, date }] of days.entries()) {
        expect(days[i + 1]?.startMs ?? endMs).toBe(endMs);
        expect(dateIn(zone, startMs)).toBe(date);
        expect(dateIn(zone, startMs - 1)).not.toBe(date);
      }
    }
  }
});

test("the day on which clocks are put forward has 23 hours and is marked", () => {
  const [day] = daysOfMonth("2026-03", "Europe/Berlin").filter(({ clockChange }) => clockChange);
  expect(day?.date).toBe("2026-03-29");
  expect((day!.endMs - day!.startMs) / HOUR_MS).toBe(23);
  expect(day?.clockChange).toEqual({ at: Date.parse("2026-03-29T01:00Z"), byMinutes: 60, from: "02:00", to: "03:00" });
  expect(describeClockChange(day!.clockChange!)).toBe("Clocks go forward 1 h: 02:00 becomes 03:00");
});

test("the day on which clocks are put back has 25 hours and is marked", () => {
  const [day] = daysOfMonth("2026-11", "America/New_York").filter(({ clockChange }) => clockChange);
  expect(day?.date).toBe("2026-11-01");
  expect((day!.endMs - day!.startMs) / HOUR_MS).toBe(25);
  expect(describeClockChange(day!.clockChange!)).toBe("Clocks go back 1 h: 02:00 becomes 01:00");
});

test("half an hour of Lord Howe is half an hour", () => {
  const [day] = daysOfMonth("2026-04", "Australia/Lord_Howe").filter(({ clockChange }) => clockChange);
  expect(describeClockChange(day!.clockChange!)).toBe("Clocks go back 30 min: 02:00 becomes 01:30");
});

test("a day without midnight begins at the end of the gap", () => {
  // Santiago, 2026-09-06: 00:00 becomes 01:00.
  const start = startOfDay("2026-09-06", "America/Santiago");
  expect(new Date(start).toISOString()).toBe("2026-09-06T04:00:00.000Z");
  expect(clockIn("America/Santiago", start)).toBe("01:00");
  const marked = daysOfMonth("2026-09", "America/Santiago").filter(({ clockChange }) => clockChange);
  expect(marked.map(({ date }) => date)).toEqual(["2026-09-06"]);
});

test("UTC has no clock changes", () => {
  for (let month = "2026-01"; month !== "2027-01"; month = monthPlus(month, 1))
    expect(daysOfMonth(month, "UTC").every(({ clockChange }) => clockChange === null)).toBe(true);
});

test("months are read, counted and checked", () => {
  expect(monthPlus("2026-12", 1)).toBe("2027-01");
  expect(monthPlus("2026-01", -1)).toBe("2025-12");
  expect(monthIn("Asia/Tokyo", Date.parse("2026-11-30T15:00Z"))).toBe("2026-12");
  expect(["2026-11", "2026-13", "2026-1", "x", "20261-1"].map(isMonth)).toEqual([true, false, false, false, false]);
  expect(["Europe/Berlin", "Nowhere/Land", ""].map(isZone)).toEqual([true, false, false]);
});
