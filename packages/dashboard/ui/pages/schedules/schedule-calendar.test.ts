import { expect, test } from "vitest";
import { type CalendarParams, calendarOf, describeDay, outcomeOf, spanOf } from "./schedule-calendar.ts";

const at = (text: string) => Date.parse(text);
const fired = (text: string, status: string | null = "completed") => ({
  at: at(text),
  what: "fired",
  status,
  runId: "r",
});
const decided = (text: string, what: string) => ({ at: at(text), what, status: null, runId: null });
const coming = (text: string) => decided(text, "coming");

const params = (over: Partial<CalendarParams>): CalendarParams => ({
  month: "2026-11",
  zone: "UTC",
  now: at("2026-11-18T12:00Z"),
  times: [],
  capped: false,
  ...over,
});
const dayOf = (over: Partial<CalendarParams>, date: string) =>
  calendarOf(params(over))
    .flat()
    .find((day) => day.date === date)!;

test("a time belongs to the day that clocks in the zone show", () => {
  const times = [fired("2026-11-17T23:30Z")];
  expect(dayOf({ times }, "2026-11-17").past).toHaveLength(1);
  expect(dayOf({ times, zone: "Europe/Berlin" }, "2026-11-17").past).toHaveLength(0);
  expect(dayOf({ times, zone: "Europe/Berlin" }, "2026-11-18").past).toHaveLength(1);
});

test("the twenty-fifth hour belongs to its day", () => {
  const times = [coming("2026-11-01T05:30Z"), coming("2026-11-01T06:30Z"), coming("2026-11-02T05:00Z")];
  expect(dayOf({ times, zone: "America/New_York" }, "2026-11-01").coming).toHaveLength(2);
});

test("today is the day of now, once", () => {
  const today = calendarOf(params({}))
    .flat()
    .filter(({ isToday }) => isToday);
  expect(today.map(({ date }) => date)).toEqual(["2026-11-18"]);
});

test("a day says what it counts, what needs somebody first", () => {
  const times = [
    fired("2026-11-18T01:00Z"),
    fired("2026-11-18T02:00Z", "failed"),
    decided("2026-11-18T03:00Z", "missed"),
    fired("2026-11-18T04:00Z", "sleeping"),
    coming("2026-11-18T20:00Z"),
  ];
  expect(describeDay(dayOf({ times }, "2026-11-18"))).toBe("1 failed, 1 missed, 1 open, 1 completed, 1 to come");
  expect(describeDay(dayOf({}, "2026-11-03"))).toBe("nothing");
});

test("days after the last known time say that there may be more", () => {
  const times = [coming("2026-11-18T20:00Z"), coming("2026-11-19T20:00Z")];
  const say = (capped: boolean, date: string) => describeDay(dayOf({ times, capped }, date));
  expect(say(true, "2026-11-18")).toBe("1 to come");
  expect(say(true, "2026-11-19")).toBe("1 or more to come");
  expect(say(true, "2026-11-20")).toBe("more to come");
  expect(say(false, "2026-11-20")).toBe("nothing");
});

test("what was started counts by the end of its run", () => {
  expect(outcomeOf("fired", "completed")).toBe("completed");
  expect(outcomeOf("fired", "timed_out")).toBe("failed");
  expect(outcomeOf("fired", "sleeping")).toBe("open");
  expect(outcomeOf("fired", "canceled")).toBe("stopped");
  expect(outcomeOf("fired", null)).toBe("completed");
  expect(outcomeOf("failed", null)).toBe("failed");
  expect(outcomeOf("missed", null)).toBe("missed");
});

test("a time that was buffered and then fired is one time", () => {
  const times = [decided("2026-11-18T01:00Z", "buffered"), fired("2026-11-18T01:00Z", "failed")];
  expect(dayOf({ times }, "2026-11-18").past).toEqual([{ at: at("2026-11-18T01:00Z"), outcome: "failed", runId: "r" }]);
});

test("a month needs the times of whole weeks, of its zone", () => {
  expect(spanOf("2026-11", "UTC")).toEqual({ from: at("2026-10-26T00:00Z"), to: at("2026-12-07T00:00Z") - 1 });
  expect(spanOf("2026-11", "Asia/Tokyo").from).toBe(at("2026-10-25T15:00Z"));
});
