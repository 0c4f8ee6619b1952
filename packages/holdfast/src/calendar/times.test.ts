import { describe, expect, it } from "vitest";
import type { ScheduleTimes } from "../model/calendar-spec.ts";
import { readSpec } from "./read-spec.ts";
import { latestBetween, nextAfter, timesBetween, upcoming } from "./times.ts";

const DAY_MS = 86_400_000;

/** The first times after `from`, without seconds that are zero. */
function firstTimes(from: string, n: number, times: ScheduleTimes): string[] {
  return upcoming(readSpec(times), Date.parse(from), n).map(short);
}

function short(ms: number): string {
  return new Date(ms).toISOString().replace(/(:00)?\.000Z$/, "Z");
}

/** The dates alone. */
function days(from: string, n: number, cron: string): string[] {
  return firstTimes(`${from}T00:00:00Z`, n, { cron }).map((time) => time.slice(0, 10));
}

describe("cron", () => {
  it("has times strictly after the given one", () => {
    expect(firstTimes("2026-11-17T10:00:00Z", 2, { cron: "0 10 * * *" })).toEqual([
      "2026-11-18T10:00Z",
      "2026-11-19T10:00Z",
    ]);
    expect(firstTimes("2026-11-17T09:59:59.999Z", 1, { cron: "0 10 * * *" })).toEqual(["2026-11-17T10:00Z"]);
  });

  it("has seconds if there are six fields", () => {
    expect(firstTimes("2026-11-17T10:59:40Z", 3, { cron: "15,45 59 * * * *" })).toEqual([
      "2026-11-17T10:59:45Z",
      "2026-11-17T11:59:15Z",
      "2026-11-17T11:59:45Z",
    ]);
  });

  it.each([
    // What croner 11.0.0 gets wrong: it misses March 1.
    ["0 0 1,30 * *", "2027-01-30", ["2027-02-01", "2027-03-01", "2027-03-30"]],
    ["0 0 31 * *", "2027-01-31", ["2027-03-31", "2027-05-31", "2027-07-31"]],
    ["0 0 29 2 *", "2027-01-01", ["2028-02-29", "2032-02-29", "2036-02-29"]],
    ["0 0 L * *", "2028-01-31", ["2028-02-29", "2028-03-31", "2028-04-30"]],
    ["0 0 L 2 *", "2099-03-01", ["2100-02-28", "2101-02-28", "2102-02-28"]],
    ["0 0 LW * *", "2026-01-01", ["2026-01-30", "2026-02-27", "2026-03-31"]],
    ["0 0 1W * *", "2026-07-31", ["2026-08-03", "2026-09-01", "2026-10-01"]],
    ["0 0 15W * *", "2026-08-01", ["2026-08-14", "2026-09-15", "2026-10-15"]],
    ["0 0 31W * *", "2026-05-01", ["2026-05-29", "2026-07-31", "2026-08-31"]],
    ["0 0 * * FRI#2", "2026-11-17", ["2026-12-11", "2027-01-08", "2027-02-12"]],
    ["0 0 * * MON#5", "2026-11-17", ["2026-11-30", "2027-03-29", "2027-05-31"]],
    ["0 0 * * FRI#L", "2026-11-17", ["2026-11-27", "2026-12-25", "2027-01-29"]],
    ["0 0 * * 5L", "2026-11-17", ["2026-11-27", "2026-12-25", "2027-01-29"]],
    ["0 0 * * MON-TUE#1", "2026-11-17", ["2026-12-01", "2026-12-07", "2027-01-04"]],
    // Two fields of days are alternatives ...
    ["0 0 13 * FRI", "2026-11-09", ["2026-11-13", "2026-11-20", "2026-11-27"]],
    ["0 0 13 * FRI", "2026-12-11", ["2026-12-13", "2026-12-18", "2026-12-25"]],
    // ... unless there is a plus.
    ["0 0 13 * +FRI", "2026-11-13", ["2027-08-13", "2028-10-13", "2029-04-13"]],
    ["0 0 ? * MON", "2026-11-17", ["2026-11-23", "2026-11-30", "2026-12-07"]],
  ])("%s after %s is due on %j", (cron, from, expected) => {
    expect(days(from, 3, cron)).toEqual(expected);
  });

  it("finds February 29 on a Monday across a century without a leap year, 40 years away", () => {
    expect(days("2072-03-01", 1, "0 0 29 2 +MON")).toEqual(["2112-02-29"]);
    expect(days("2072-03-01", 1, "0,1 0 29 2 +MON")).toEqual(["2112-02-29"]);
  });

  it.each([
    ["0 0 30 2 *", "UTC"],
    ["*/5 0 31 4,6,9,11 *", "America/New_York"],
    ["0 0 1-7 * +MON#2", "Asia/Tokyo"],
    ["0 0 29 2 +MON#1", "UTC"],
    // Exists on the calendar, but the clocks of New York jump over it every year.
    ["0,30 2 * 3 SUN#2", "America/New_York"],
  ])("%s in %s is never due, and the search ends", (cron, timezone) => {
    expect(nextAfter(readSpec({ cron, timezone }), Date.UTC(2026, 10, 17))).toBeNull();
  });

  it("is due in the years 1900 to 9999", () => {
    const daily = readSpec({ cron: "0 0 * * *" });
    expect(nextAfter(daily, Date.UTC(1500, 0, 1))).toBe(Date.UTC(1900, 0, 1));
    expect(nextAfter(daily, Number.MIN_SAFE_INTEGER)).toBe(Date.UTC(1900, 0, 1));
    expect(nextAfter(daily, Date.UTC(9999, 11, 30))).toBe(Date.UTC(9999, 11, 31));
    expect(nextAfter(daily, Date.UTC(9999, 11, 31))).toBeNull();
    expect(nextAfter(daily, Number.MAX_SAFE_INTEGER)).toBeNull();
    for (const cron of ["30 23 31 12 *", "*/30 23 31 12 *"]) {
      const behind = readSpec({ cron, timezone: "America/New_York" });
      expect(nextAfter(behind, Date.UTC(9999, 5, 1))).toBeNull();
      expect(nextAfter(behind, Date.UTC(9998, 5, 1))).toBeLessThan(Date.UTC(9999, 0, 2));
    }
  });

  it("sees clocks that are put forward for a week only", () => {
    const times = firstTimes("2000-10-07T16:00:00Z", 9, { cron: "0 12 * * *", timezone: "America/Recife" });
    expect(times.map((time) => time.slice(8, 13))).toEqual([
      "08T14",
      "09T14",
      "10T14",
      "11T14",
      "12T14",
      "13T14",
      "14T14",
      "15T15",
      "16T15",
    ]);
  });

  it("knows zones that had odd offsets long ago", () => {
    // The Netherlands were 19 minutes and 32 seconds ahead of Greenwich until 1937.
    const [first] = upcoming(readSpec({ cron: "0 12 * * *", timezone: "Europe/Amsterdam" }), Date.UTC(1930, 0, 1), 1);
    const shown = new Intl.DateTimeFormat("en-GB", { timeZone: "Europe/Amsterdam", timeStyle: "medium" }).format(first);
    expect(shown).toBe("12:00:00");
  });
});

describe("when the clocks are put forward, one time a day", () => {
  it.each([
    ["America/New_York", "30 2 * * *", ["2026-03-07T07:30Z", "2026-03-08T07:00Z", "2026-03-09T06:30Z"]],
    ["Europe/Berlin", "0 2 * * *", ["2026-03-28T01:00Z", "2026-03-29T01:00Z", "2026-03-30T00:00Z"]],
    ["Australia/Lord_Howe", "15 2 * * *", ["2026-10-02T15:45Z", "2026-10-03T15:30Z", "2026-10-04T15:15Z"]],
    ["Africa/Casablanca", "30 2 * * *", ["2026-03-21T02:30Z", "2026-03-22T02:00Z", "2026-03-23T01:30Z"]],
    // Midnight does not exist on these days.
    ["Asia/Beirut", "0 0 * * *", ["2026-03-27T22:00Z", "2026-03-28T22:00Z", "2026-03-29T21:00Z"]],
    ["America/Havana", "30 0 * * *", ["2026-03-07T05:30Z", "2026-03-08T05:00Z", "2026-03-09T04:30Z"]],
    ["America/Santiago", "0 0 * * *", ["2026-09-05T04:00Z", "2026-09-06T04:00Z", "2026-09-07T03:00Z"]],
  ])("is due at the end of the gap: %s, %s", (timezone, cron, expected) => {
    const [first = ""] = expected;
    const start = new Date(Date.parse(first) - 1).toISOString();
    expect(firstTimes(start, 3, { cron, timezone })).toEqual(expected);
  });

  it("is due at the end of the gap if the search starts in the last second before it", () => {
    const times = { cron: "30 2 * * *", timezone: "America/New_York" };
    for (const start of ["2026-03-08T06:59:59Z", "2026-03-08T06:59:59.500Z", "2026-03-08T06:59:59.999Z"])
      expect(firstTimes(start, 1, times)).toEqual(["2026-03-08T07:00Z"]);
    expect(firstTimes("2026-03-08T07:00:00Z", 1, times)).toEqual(["2026-03-09T06:30Z"]);
  });

  it("is due at the end of a gap that is a whole day, and once if two days have the same time", () => {
    const timezone = "Pacific/Apia"; // which had no December 30 in 2011
    expect(firstTimes("2011-12-29T00:00:00Z", 3, { cron: "30 2 * * *", timezone })).toEqual([
      "2011-12-29T12:30Z",
      "2011-12-30T10:00Z",
      "2011-12-30T12:30Z",
    ]);
    expect(firstTimes("2011-12-29T00:00:00Z", 3, { cron: "0 0 * * *", timezone })).toEqual([
      "2011-12-29T10:00Z",
      "2011-12-30T10:00Z",
      "2011-12-31T10:00Z",
    ]);
  });
});

describe("when the clocks are put back, one time a day", () => {
  it.each([
    ["America/New_York", "30 1 * * *", ["2026-10-31T05:30Z", "2026-11-01T05:30Z", "2026-11-02T06:30Z"]],
    ["Australia/Lord_Howe", "45 1 * * *", ["2026-04-03T14:45Z", "2026-04-04T14:45Z", "2026-04-05T15:15Z"]],
    ["Asia/Beirut", "30 23 * * *", ["2026-10-23T20:30Z", "2026-10-24T20:30Z", "2026-10-25T21:30Z"]],
    ["America/Havana", "0 0 * * *", ["2026-10-31T04:00Z", "2026-11-01T04:00Z", "2026-11-02T05:00Z"]],
  ])("is due the first time: %s, %s", (timezone, cron, expected) => {
    const [first = ""] = expected;
    const start = new Date(Date.parse(first) - 1).toISOString();
    expect(firstTimes(start, 3, { cron, timezone })).toEqual(expected);
  });

  it("is not due again if the search starts in the second pass", () => {
    const times = { cron: "30 1 * * *", timezone: "America/New_York" };
    expect(firstTimes("2026-11-01T06:10:00Z", 1, times)).toEqual(["2026-11-02T06:30Z"]);
    expect(firstTimes("2026-11-01T06:30:00Z", 1, times)).toEqual(["2026-11-02T06:30Z"]);
  });
});

describe("several times a day follow the clock on the wall", () => {
  const timezone = "America/New_York";

  it("with nothing in the gap", () => {
    expect(firstTimes("2026-03-08T06:00:00Z", 4, { cron: "*/30 * * * *", timezone })).toEqual([
      "2026-03-08T06:30Z",
      "2026-03-08T07:00Z",
      "2026-03-08T07:30Z",
      "2026-03-08T08:00Z",
    ]);
    expect(firstTimes("2026-03-08T00:00:00Z", 2, { cron: "30 2,14 * * *", timezone })).toEqual([
      "2026-03-08T18:30Z",
      "2026-03-09T06:30Z",
    ]);
  });

  it("and in both passes of a repeated hour", () => {
    expect(firstTimes("2026-11-01T04:59:00Z", 5, { cron: "*/30 1 * * *", timezone })).toEqual([
      "2026-11-01T05:00Z",
      "2026-11-01T05:30Z",
      "2026-11-01T06:00Z",
      "2026-11-01T06:30Z",
      "2026-11-02T06:00Z",
    ]);
    expect(firstTimes("2026-11-01T05:45:00Z", 1, { cron: "15,30 1 * * *", timezone })).toEqual(["2026-11-01T06:15Z"]);
  });
});

describe("every", () => {
  it("counts from 1970, with an offset", () => {
    expect(firstTimes("2026-11-17T10:00:00Z", 2, { every: "90m" })).toEqual(["2026-11-17T10:30Z", "2026-11-17T12:00Z"]);
    expect(firstTimes("2026-11-17T10:00:00Z", 2, { every: { every: "1h", offset: "5m" } })).toEqual([
      "2026-11-17T10:05Z",
      "2026-11-17T11:05Z",
    ]);
    expect(nextAfter(readSpec({ every: { every: "1h", offset: "5m" } }), 0)).toBe(300_000);
    expect(nextAfter(readSpec({ every: "1h" }), -1)).toBe(0);
  });

  it("may be several", () => {
    expect(firstTimes("2026-11-17T10:00:00Z", 3, { every: ["20m", { every: "1h", offset: { minutes: 30 } }] })).toEqual(
      ["2026-11-17T10:20Z", "2026-11-17T10:30Z", "2026-11-17T10:40Z"],
    );
  });

  it("ends where the calendar does", () => {
    expect(nextAfter(readSpec({ every: "1s" }), Date.UTC(10_000, 0, 1))).toBeNull();
  });
});

describe("at", () => {
  it("is each time once, in order", () => {
    const dates = ["2027-01-03", "2027-01-01", "2027-01-03", "2027-01-02"].map((text) => new Date(text));
    expect(firstTimes("2027-01-01T00:00:00Z", 9, { at: dates })).toEqual(["2027-01-02T00:00Z", "2027-01-03T00:00Z"]);
    expect(firstTimes("2027-01-01T00:00:00Z", 9, { at: new Date("2027-05-05T00:00:00.123Z") })).toEqual([
      "2027-05-05T00:00:00.123Z",
    ]);
  });
});

describe("bounds", () => {
  it("are inclusive", () => {
    const times = { cron: "0 0 * * *", from: new Date("2027-01-02"), until: new Date("2027-01-03") };
    expect(firstTimes("2020-01-01T00:00:00Z", 9, times)).toEqual(["2027-01-02T00:00Z", "2027-01-03T00:00Z"]);
    const single = { every: "1h", from: new Date("2027-01-02"), until: new Date("2027-01-02") };
    expect(firstTimes("2020-01-01T00:00:00Z", 9, single)).toEqual(["2027-01-02T00:00Z"]);
  });
});

describe("a stretch of time", () => {
  const spec = readSpec({ cron: "* * * * * *" });
  const until = Date.UTC(2026, 10, 17);

  it("is open at its start and closed at its end", () => {
    const hourly = readSpec({ every: "1h" });
    expect(timesBetween(hourly, until - 2 * 3_600_000, until, 10)).toEqual([until - 3_600_000, until]);
    expect(latestBetween(hourly, until - 2 * 3_600_000, until, 10)).toEqual([until - 3_600_000, until]);
    expect(timesBetween(hourly, until, until, 10)).toEqual([]);
    expect(latestBetween(hourly, until, until, 10)).toEqual([]);
    expect(latestBetween(hourly, until, until - DAY_MS, 10)).toEqual([]);
  });

  it("has its latest times found without a walk through a year of seconds", () => {
    const latest = latestBetween(spec, until - 365 * DAY_MS, until, 100);
    expect(latest).toEqual(Array.from({ length: 100 }, (_, i) => until - (99 - i) * 1_000));
  });

  it("has its latest times found if they are a millisecond apart", () => {
    const times = [1, 2, 3, 4, 5, 6, 7, 9].map((ms) => until + ms);
    const close = readSpec({ at: times.map((ms) => new Date(ms)) });
    for (let max = 1; max <= times.length; max++)
      expect(latestBetween(close, until, until + 9, max)).toEqual(times.slice(-max));
  });

  it("has its latest times found if they are all at its start", () => {
    const newYear = readSpec({ cron: "* * 0 1 1 *" });
    const latest = latestBetween(newYear, Date.UTC(2025, 11, 31), until, 2);
    expect(latest.map(short)).toEqual(["2026-01-01T00:59:58Z", "2026-01-01T00:59:59Z"]);
  });
});
