import { describe, expect, it } from "vitest";
import { type HoldfastError, isHoldfastError } from "../errors/holdfast-error.ts";
import type { CalendarSpec, ScheduleTimes } from "../model/calendar-spec.ts";
import { jitterMs } from "./jitter.ts";
import { readSpec } from "./read-spec.ts";

const NOTHING: CalendarSpec = {
  cron: [],
  every: [],
  at: [],
  timezone: "UTC",
  jitterMs: 0,
  fromMs: null,
  untilMs: null,
};

describe("a spec", () => {
  it("is plain data with everything in its place", () => {
    const spec = readSpec({
      cron: ["0 2 * * *", "@daily"],
      every: [{ minutes: 5 }, { every: "1h", offset: "5m" }, { every: "10s" }],
      at: [new Date(9_000), new Date(5_000), new Date(9_000)],
      timezone: "Europe/Berlin",
      jitter: "30s",
      from: new Date(1_000),
      until: new Date(2_000),
    });
    expect(spec).toEqual({
      cron: ["0 2 * * *", "@daily"],
      every: [
        { everyMs: 300_000, offsetMs: 0 },
        { everyMs: 3_600_000, offsetMs: 300_000 },
        { everyMs: 10_000, offsetMs: 0 },
      ],
      at: [5_000, 9_000],
      timezone: "Europe/Berlin",
      jitterMs: 30_000,
      fromMs: 1_000,
      untilMs: 2_000,
    });
    expect(JSON.parse(JSON.stringify(spec))).toEqual(spec);
  });

  it("needs one of its parts alone", () => {
    expect(readSpec({ cron: "* * * * *" })).toEqual({ ...NOTHING, cron: ["* * * * *"] });
    expect(readSpec({ every: "1 day" })).toEqual({ ...NOTHING, every: [{ everyMs: 86_400_000, offsetMs: 0 }] });
    expect(readSpec({ at: new Date(7) })).toEqual({ ...NOTHING, at: [7] });
  });

  it("keeps the name of a time zone as it was written", () => {
    for (const timezone of ["Asia/Kathmandu", "Asia/Katmandu", "Etc/GMT+5", "UTC"])
      expect(readSpec({ every: "1h", timezone }).timezone).toBe(timezone);
  });
});

describe("a refused spec says which field is wrong", () => {
  const many = (n: number) => Array.from({ length: n });
  it.each<[string, unknown, number | undefined, string]>([
    ["cron", {}, undefined, "is missing, and so are every and at"],
    ["cron", { cron: [], every: [], at: [] }, undefined, "is missing"],
    ["cron", { cron: 5 }, undefined, "is 5, not a string"],
    ["cron", { cron: null }, undefined, "is null, not a string"],
    ["cron", { cron: "0 25 * * *" }, 2, 'is "0 25 * * *": at position 2, "25" is not an hour: 0 to 23.'],
    ["cron[1]", { cron: ["@daily", "0 0 * * FOO"] }, 8, "is not a day of the week"],
    ["cron[0]", { cron: [undefined] }, undefined, "is undefined, not a string"],
    ["cron", { cron: "*".repeat(501) }, undefined, "has 501 characters; the limit is 500"],
    ["cron", { cron: many(101).fill("@daily") }, undefined, "has 101 entries; the limit is 100"],
    ["every", { every: 5 }, undefined, "is 5, not a duration"],
    ["every", { every: "soon" }, undefined, 'is "soon", not a duration'],
    ["every", { every: "100 years" }, undefined, "The units are weeks, days, hours, minutes, seconds and milliseconds"],
    ["every", { every: "36526 days" }, undefined, "longer than the limit of 100 years (36525 days)"],
    ["every", { every: "999ms" }, undefined, "is 999ms; the shortest interval is 1s"],
    ["every", { every: "0s" }, undefined, "is 0ms; the shortest interval is 1s"],
    ["every[1]", { every: ["1h", "x"] }, undefined, "not a duration"],
    ["every.every", { every: { every: "x" } }, undefined, "not a duration"],
    ["every.offset", { every: { every: "1h", offset: "x" } }, undefined, "not a duration"],
    ["every.offset", { every: { every: "1h", offset: "1h" } }, undefined, "must be shorter than the interval of 1h"],
    ["every[0].offset", { every: [{ every: "1h", offset: "2h" }] }, undefined, "is 2h; it must be shorter"],
    ["every.ofset", { every: { every: "1h", ofset: "1m" } }, undefined, "is unknown"],
    ["every", { every: many(101).fill("1h") }, undefined, "the limit is 100"],
    ["at", { at: "2027-01-01" }, undefined, 'is "2027-01-01", not a valid Date'],
    ["at", { at: new Date(Number.NaN) }, undefined, "is an invalid Date, not a valid Date"],
    ["at[1]", { at: [new Date(0), new Date(Date.UTC(1899, 11, 31))] }, undefined, "between the years 1900 and 9999"],
    ["at", { at: many(1_001).fill(new Date(0)) }, undefined, "has 1001 entries; the limit is 1000"],
    ["timezone", { every: "1h", timezone: "Europe/Berln" }, undefined, 'Did you mean "Europe/Berlin"?'],
    ["timezone", { every: "1h", timezone: "+02:00" }, undefined, "not the IANA name of a time zone"],
    ["timezone", { every: "1h", timezone: "" }, undefined, "not the IANA name of a time zone"],
    ["timezone", { every: "1h", timezone: 2 }, undefined, "is 2, not the IANA name"],
    ["jitter", { every: "1h", jitter: "x" }, undefined, "not a duration"],
    ["jitter", { every: "1h", jitter: { minutes: -1 } }, undefined, "not a duration"],
    ["from", { every: "1h", from: 0 }, undefined, "is 0, not a valid Date"],
    ["until", { every: "1h", until: new Date(Date.UTC(10_000, 0, 1)) }, undefined, "the years 1900 and 9999"],
    ["until", { every: "1h", from: new Date(2), until: new Date(1) }, undefined, "is before from"],
  ])("%s of %j", (field, times, position, message) => {
    const error = refusal(times);
    expect(error.code).toBe("invalid_schedule");
    expect(error.data).toEqual(position === undefined ? { field } : { field, position });
    expect(error.message).toContain(`hf.schedules.create: ${field} `);
    expect(error.message).toContain(message);
    expect(error.message).toMatch(/[.?]$/);
  });

  it("even if the value throws when it is read", () => {
    const hostile = new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error("no");
        },
        getPrototypeOf: () => Object.prototype,
      },
    );
    expect(refusal({ every: hostile }).data).toEqual({ field: "every" });
  });
});

describe("jitter", () => {
  const spec = readSpec({ every: "1m", jitter: "30s" });

  it("is the same for the same schedule and time, and from 0 to its limit", () => {
    const short = readSpec({ every: "1m", jitter: "3ms" });
    const seen = new Set<number>();
    for (let at = 0; at < 200; at++) seen.add(jitterMs(short, "report", at * 60_000));
    expect([...seen].sort()).toEqual([0, 1, 2, 3]);
    expect(jitterMs(spec, "report", 60_000)).toBe(jitterMs(spec, "report", 60_000));
    // Never changes from one version to the next: a leader of the old one and a leader of the new one may both be there.
    expect(jitterMs(spec, "report", 60_000)).toBe(24059);
  });

  it("differs between schedules and between times", () => {
    const ids = new Set(Array.from({ length: 50 }, (_, i) => jitterMs(spec, `schedule-${i}`, 60_000)));
    const times = new Set(Array.from({ length: 50 }, (_, i) => jitterMs(spec, "report", i * 60_000)));
    expect(ids.size).toBeGreaterThan(45);
    expect(times.size).toBeGreaterThan(45);
  });

  it("is none without the option", () => {
    expect(jitterMs(readSpec({ every: "1m" }), "report", 60_000)).toBe(0);
  });
});

function refusal(times: unknown): HoldfastError {
  try {
    readSpec(times as ScheduleTimes, "hf.schedules.create");
  } catch (error) {
    if (isHoldfastError(error)) return error;
    throw error;
  }
  throw new Error("accepted");
}
