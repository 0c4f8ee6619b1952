import fc from "fast-check";
import { expect, test } from "vitest";
import { placeOf, shortScale, ticksOf, timeAt, trueScale } from "./time-scale.ts";

const DAY = 86_400_000;

test("a sleep of three days and steps of 40 ms both show", () => {
  const scale = shortScale(0, 3 * DAY + 120, [40, 80, 3 * DAY + 80]);
  const step = placeOf(scale, 40) - placeOf(scale, 0);
  const sleep = placeOf(scale, 3 * DAY + 80) - placeOf(scale, 80);
  expect(step).toBeGreaterThan(0.2);
  expect(sleep).toBeGreaterThan(0.1);
  expect(sleep).toBeLessThan(0.2);
  expect(scale.stretches.filter(({ gap }) => gap)).toHaveLength(1);
});

test("two sleeps of a day are both gaps", () => {
  const scale = shortScale(0, 2 * DAY + 300, [100, 100 + DAY, 200 + DAY, 200 + 2 * DAY]);
  expect(scale.stretches.map(({ gap }) => gap)).toEqual([false, true, false, true, false]);
});

test("backoffs of a second between attempts of half a second are no gaps", () => {
  const scale = shortScale(0, 5600, [38, 1238, 2238, 2938, 5000]);
  expect(scale.stretches).toHaveLength(1);
  expect(placeOf(scale, 2800)).toBeCloseTo(0.5);
});

test("a run in which nothing happened is one stretch", () => {
  expect(shortScale(5, 5, []).stretches).toHaveLength(1);
  expect(placeOf(shortScale(0, DAY, []), DAY / 2)).toBeCloseTo(0.5);
});

test("places grow with time, reach from 0 to 1, and lead back to their time", () => {
  const moments = fc.array(fc.integer({ min: 0, max: 10 * DAY }), { maxLength: 60 });
  fc.assert(
    fc.property(moments, fc.integer({ min: 1, max: 10 * DAY }), (points, end) => {
      for (const scale of [shortScale(0, end, points), trueScale(0, end)]) {
        const sorted = [0, ...points.filter((point) => point < end).sort((a, b) => a - b), end];
        const places = sorted.map((point) => placeOf(scale, point));
        expect(places[0]).toBeCloseTo(0);
        expect(places.at(-1)).toBeCloseTo(1);
        for (const [index, place] of places.entries()) {
          if (index > 0) expect(place).toBeGreaterThanOrEqual((places[index - 1] ?? 0) - 1e-9);
        }
        const middle = sorted[Math.floor(sorted.length / 2)] ?? 0;
        const back = timeAt(scale, placeOf(scale, middle));
        expect(Math.abs(placeOf(scale, back) - placeOf(scale, middle))).toBeLessThan(1e-6);
      }
    }),
  );
});

test("ticks are round, ascending and apart from each other", () => {
  const ticks = ticksOf(trueScale(0, 6400), 0.15);
  expect(ticks.map(({ at }) => at)).toEqual([0, 1000, 2000, 3000, 4000, 5000, 6000]);
  const short = ticksOf(shortScale(0, 3 * DAY, [2000, 4000, 6000]), 0.12);
  for (const [index, { place }] of short.entries()) {
    if (index > 0) expect(place - (short[index - 1]?.place ?? 0)).toBeGreaterThan(0.1);
  }
});
