/** Draws cron expressions, each as a text and, made from the same choices but not from the text, as functions. */
import fc from "fast-check";
import type { PlainCron, Shown } from "./independent-calendar.ts";

export interface DrawnCron extends PlainCron {
  readonly text: string;
}

interface Numbers {
  readonly text: string;
  readonly numbers: ReadonlySet<number>;
}

interface Days {
  readonly text: string;
  readonly has: (shown: Shown) => boolean;
}

const WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const ANY = "*";

function numbers(min: number, max: number, names: readonly string[] = []): fc.Arbitrary<Numbers> {
  const shown = (n: number) => names[n - min] ?? `${n}`;
  const single = fc.integer({ min, max }).map((n): Numbers => ({ text: shown(n), numbers: new Set([n]) }));
  const range = fc
    .tuple(fc.integer({ min, max }), fc.integer({ min, max }), fc.integer({ min: 1, max: 7 }))
    .map(([a, b, step]): Numbers => {
      const [from, to] = a < b ? [a, b] : [b, a];
      return {
        text: `${shown(from)}-${shown(to)}${step === 1 ? "" : `/${step}`}`,
        numbers: new Set(everyNth(from, to, step)),
      };
    });
  const any = fc.integer({ min: 1, max: Math.min(max - min, 30) }).map(
    (step): Numbers => ({
      text: step === 1 ? ANY : `*/${step}`,
      numbers: new Set(everyNth(min, max, step)),
    }),
  );
  const list = fc.array(fc.oneof(single, range), { minLength: 2, maxLength: 4 }).map(
    (parts): Numbers => ({
      text: parts.map((part) => part.text).join(","),
      numbers: new Set(parts.flatMap((part) => [...part.numbers])),
    }),
  );
  return fc.oneof({ weight: 3, arbitrary: single }, range, any, list);
}

function everyNth(from: number, to: number, step: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i).filter((n) => (n - from) % step === 0);
}

const monthDays: fc.Arbitrary<Days> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Days>({ text: ANY, has: () => true }) },
  numbers(1, 31).map(({ text, numbers }): Days => ({ text, has: (shown) => numbers.has(shown.day) })),
  fc.constant<Days>({ text: "L", has: (shown) => shown.day === shown.monthLength }),
  fc.constant<Days>({ text: "LW", has: (shown) => shown.day === nearest(shown, shown.monthLength) }),
  fc.integer({ min: 1, max: 31 }).map(
    (day): Days => ({
      text: `${day}W`,
      has: (shown) => day <= shown.monthLength && shown.day === nearest(shown, day),
    }),
  ),
);

/** The workday nearest to a day of the month that is shown: tries the days at growing distance, the earlier one first. */
function nearest(shown: Shown, day: number): number {
  for (const distance of [0, -1, 1, -2, 2]) {
    const candidate = day + distance;
    const weekday = (shown.weekday + candidate - shown.day + 70) % 7;
    if (candidate >= 1 && candidate <= shown.monthLength && weekday !== 0 && weekday !== 6) return candidate;
  }
  return Number.NaN;
}

const weekdays: fc.Arbitrary<Days> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Days>({ text: ANY, has: () => true }) },
  numbers(0, 6, WEEKDAYS).map(({ text, numbers }): Days => ({ text, has: (shown) => numbers.has(shown.weekday) })),
  fc.tuple(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 1, max: 5 })).map(
    ([weekday, nth]): Days => ({
      text: `${WEEKDAYS[weekday]}#${nth}`,
      has: (shown) => shown.weekday === weekday && shown.day > (nth - 1) * 7 && shown.day <= nth * 7,
    }),
  ),
  fc.tuple(fc.integer({ min: 0, max: 6 }), fc.constantFrom("#L", "L")).map(
    ([weekday, suffix]): Days => ({
      text: `${weekday}${suffix}`,
      has: (shown) => shown.weekday === weekday && shown.day > shown.monthLength - 7,
    }),
  ),
);

const months = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Numbers>({ text: ANY, numbers: new Set(everyNth(1, 12, 1)) }) },
  numbers(1, 12, MONTHS),
);

/** Expressions of five fields. */
export const drawnCrons: fc.Arbitrary<DrawnCron> = fc
  .record({
    minute: numbers(0, 59),
    hour: numbers(0, 23),
    monthDay: monthDays,
    month: months,
    weekday: weekdays,
    both: fc.boolean(),
  })
  .map(({ minute, hour, monthDay, month, weekday, both }) => {
    const either = !both && monthDay.text !== ANY && weekday.text !== ANY;
    return {
      text: [minute.text, hour.text, monthDay.text, month.text, `${both ? "+" : ""}${weekday.text}`].join(" "),
      minutes: minute.numbers,
      hours: hour.numbers,
      isDay: (shown) => {
        if (!month.numbers.has(shown.month)) return false;
        return either ? monthDay.has(shown) || weekday.has(shown) : monthDay.has(shown) && weekday.has(shown);
      },
    };
  });
