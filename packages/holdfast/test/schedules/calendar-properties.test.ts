import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type CalendarSpec,
  latestBetween,
  nextAfter,
  readSpec,
  timesBetween,
  upcoming,
} from "../../src/calendar/index.ts";
import { drawnCrons } from "./drawn-crons.ts";
import { WalkedZone } from "./independent-calendar.ts";

const DAY_MS = 86_400_000;
/** More are compared in parts. */
const COMPARED_MAX = 3_000;

const ZONES = [
  // zone, the first of 16 months, clock changes in them
  ["America/New_York", "2026-01-01", 3],
  ["Europe/Berlin", "2026-01-01", 3],
  ["Australia/Lord_Howe", "2026-01-01", 3],
  ["Asia/Kathmandu", "2026-01-01", 0],
  ["Africa/Casablanca", "2026-01-01", 4],
  ["Asia/Beirut", "2026-01-01", 3],
  ["America/Havana", "2026-01-01", 3],
  ["America/Santiago", "2026-01-01", 3],
  ["Pacific/Apia", "2011-01-01", 4],
  ["UTC", "2026-01-01", 0],
] as const;

describe.each(ZONES)("the times of any cron in %s", (timezone, first, changes) => {
  const fromMs = Date.parse(`${first}T00:00:00Z`);
  const untilMs = fromMs + 485 * DAY_MS;
  const walked = new WalkedZone(timezone, fromMs - 2 * DAY_MS, untilMs);
  const changed = walked.changedAt().filter((ms) => ms >= fromMs);

  it("are those of the independent calculation, which sees every clock change", () => {
    expect(changed).toHaveLength(changes);
    fc.assert(
      fc.property(drawnCrons, fc.double({ min: 0, max: 1, noNaN: true }), (cron, start) => {
        const spec = readSpec({ cron: cron.text, timezone });
        const all = walked.times(cron);
        const expected = all.slice(placeOf(all, fromMs), placeOf(all, untilMs));
        for (const [after, until] of stretches(expected, start)) {
          const first = placeOf(expected, after + 1);
          const inside = expected.slice(first, Math.min(placeOf(expected, until + 1), first + COMPARED_MAX));
          expect(timesBetween(spec, after, until, COMPARED_MAX).join()).toBe(inside.join());
        }
      }),
      { numRuns: 40 },
    );
  });

  /** All of it if there are few times; otherwise a part that begins anywhere, and the days around each clock change. */
  function stretches(expected: readonly number[], start: number): [number, number][] {
    if (expected.length <= COMPARED_MAX) return [[fromMs - 1, untilMs - 1]];
    const around = changed.map((ms): [number, number] => [ms - DAY_MS / 2, ms + DAY_MS / 2]);
    return [[Math.floor(fromMs + start * (untilMs - fromMs)), untilMs - 1], ...around];
  }
});

/** Where the first time is that is not before that one: a minute-by-minute cron has 700,000 of them. */
function placeOf(times: readonly number[], ms: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[middle] as number) < ms) low = middle + 1;
    else high = middle;
  }
  return low;
}

describe("any spec", () => {
  const dates = fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2027, 0, 1) });
  const everies = fc
    .tuple(fc.integer({ min: 1_000, max: 2 * DAY_MS }), fc.double({ min: 0, max: 0.999, noNaN: true }))
    .map(([milliseconds, part]) => ({
      every: { milliseconds },
      offset: { milliseconds: Math.floor(milliseconds * part) },
    }));
  const specs = fc
    .record({
      cron: fc.array(
        drawnCrons.map((cron) => cron.text),
        { maxLength: 3 },
      ),
      every: fc.array(everies, { maxLength: 2 }),
      at: fc.array(
        dates.map((ms) => new Date(ms)),
        { maxLength: 5 },
      ),
      timezone: fc.constantFrom(...ZONES.map(([zone]) => zone)),
      bounds: fc.option(fc.tuple(dates, dates)),
    })
    .filter(({ cron, every, at }) => cron.length + every.length + at.length > 0)
    .map(({ bounds, ...times }) => {
      if (bounds === null) return readSpec(times);
      return readSpec({ ...times, from: new Date(Math.min(...bounds)), until: new Date(Math.max(...bounds)) });
    });

  it("has times that grow strictly, stay in the bounds, and are the same from any start", () => {
    fc.assert(
      fc.property(specs, dates, fc.nat(), (spec, from, somewhere) => {
        const times = upcoming(spec, from, 60);
        let previous = from;
        for (const time of times) {
          expect(time).toBeGreaterThan(previous);
          expect(time).toBeGreaterThanOrEqual(spec.fromMs ?? time);
          expect(time).toBeLessThanOrEqual(spec.untilMs ?? time);
          const between = previous + (somewhere % (time - previous));
          expect(nextAfter(spec, between)).toBe(time);
          previous = time;
        }
        if (times.length < 60) expect(nextAfter(spec, previous)).toBeNull();
      }),
      { numRuns: 200 },
    );
  });

  it("has the times of all its parts, each once", () => {
    fc.assert(
      fc.property(specs, dates, (spec, from) => {
        const parts: CalendarSpec[] = [
          { ...spec, every: [], at: [] },
          { ...spec, cron: [], at: [] },
          { ...spec, cron: [], every: [] },
        ];
        const all = parts.flatMap((part) => upcoming(part, from, 40));
        const merged = [...new Set(all)].sort((a, b) => a - b).slice(0, 40);
        expect(upcoming(spec, from, 40)).toEqual(merged);
      }),
      { numRuns: 200 },
    );
  });

  it("has latest times that are the last of all times", () => {
    fc.assert(
      fc.property(specs, dates, fc.nat({ max: DAY_MS / 2 }), fc.nat({ max: 120 }), (spec, after, span, max) => {
        const all = timesBetween(spec, after, after + span, DAY_MS);
        expect(latestBetween(spec, after, after + span, max)).toEqual(max === 0 ? [] : all.slice(-max));
      }),
      { numRuns: 100 },
    );
  });

  it("is the same after a round trip through JSON", () => {
    fc.assert(
      fc.property(specs, dates, (spec, from) => {
        const again = JSON.parse(JSON.stringify(spec)) as CalendarSpec;
        expect(again).toEqual(spec);
        expect(upcoming(again, from, 5)).toEqual(upcoming(spec, from, 5));
      }),
      { numRuns: 50 },
    );
  });
});
