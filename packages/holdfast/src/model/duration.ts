/** A length of time: `"250ms"`, `"30s"`, `"1 day"`, `"2h 30m"`, or `{ minutes: 5 }`. Never a bare number. */
export type Duration = string | DurationParts;

/** A length of time in numbers; the parts are added up. */
export interface DurationParts {
  readonly weeks?: number;
  readonly days?: number;
  readonly hours?: number;
  readonly minutes?: number;
  readonly seconds?: number;
  readonly milliseconds?: number;
}

/** 100 years. Longer than any plan, and far enough from the limits of `Date` that adding it to a time stays valid. */
export const DURATION_MS_MAX = 36_525 * 86_400_000;

const UNIT_MS = {
  weeks: 604_800_000,
  days: 86_400_000,
  hours: 3_600_000,
  minutes: 60_000,
  seconds: 1_000,
  milliseconds: 1,
} as const;

type Unit = keyof typeof UNIT_MS;

const UNIT_NAMES: Readonly<Record<Unit, readonly string[]>> = {
  weeks: ["w", "wk", "wks", "week", "weeks"],
  days: ["d", "day", "days"],
  hours: ["h", "hr", "hrs", "hour", "hours"],
  minutes: ["m", "min", "mins", "minute", "minutes"],
  seconds: ["s", "sec", "secs", "second", "seconds"],
  milliseconds: ["ms", "msec", "msecs", "millisecond", "milliseconds"],
};

const UNIT_BY_NAME: ReadonlyMap<string, Unit> = new Map(
  (Object.keys(UNIT_NAMES) as Unit[]).flatMap((unit) => UNIT_NAMES[unit].map((name) => [name, unit] as const)),
);

// Longer texts are refused unread, so that a hostile one costs nothing.
const TEXT_LENGTH_MAX = 100;
const COMPONENT = /\s*(\d+(?:\.\d+)?|\.\d+)\s*([a-z]+)\s*/iy;

const PRINTED_UNITS = [
  ["d", UNIT_MS.days],
  ["h", UNIT_MS.hours],
  ["m", UNIT_MS.minutes],
  ["s", UNIT_MS.seconds],
  ["ms", UNIT_MS.milliseconds],
] as const;

/** Whole milliseconds, rounded up; undefined if the duration is not valid, is negative or exceeds 100 years. */
export function durationToMs(d: Duration): number | undefined {
  const ms = totalMs(d);
  return ms === undefined || ms > DURATION_MS_MAX ? undefined : ms;
}

/** Whether it is valid, but exceeds 100 years. */
export function isTooLong(d: Duration): boolean {
  return (totalMs(d) ?? 0) > DURATION_MS_MAX;
}

function totalMs(d: Duration): number | undefined {
  const parts = typeof d === "string" ? partsOfText(d) : partsOfObject(d);
  if (parts === undefined || parts.size === 0) return undefined;
  let total = 0;
  for (const [unit, count] of parts) total += count * UNIT_MS[unit];
  return roundUp(total);
}

/** The shortest exact text that `durationToMs` reads back: `"2h 30m"`, `"250ms"`. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) return `${ms}ms`;
  if (ms < 0) return `-${formatDuration(-ms)}`;
  let rest = Math.ceil(ms);
  if (rest === 0) return "0ms";
  const texts: string[] = [];
  for (const [name, unitMs] of PRINTED_UNITS) {
    const count = Math.floor(rest / unitMs);
    if (count > 0) texts.push(`${count}${name}`);
    rest -= count * unitMs;
  }
  return texts.join(" ");
}

function partsOfText(text: string): Map<Unit, number> | undefined {
  if (text.length > TEXT_LENGTH_MAX) return undefined;
  const parts = new Map<Unit, number>();
  let position = 0;
  while (position < text.length) {
    COMPONENT.lastIndex = position;
    const match = COMPONENT.exec(text);
    if (match === null) return undefined;
    const unit = unitNamed(match[2] ?? "");
    // The same unit twice ("1h 1h") is more often a typo than a sum.
    if (unit === undefined || parts.has(unit)) return undefined;
    parts.set(unit, Number(match[1]));
    position = COMPONENT.lastIndex;
  }
  return parts;
}

function unitNamed(name: string): Unit | undefined {
  // Words in any case, but a lone capital is refused: in other notations "M" is a month.
  return UNIT_BY_NAME.get(name.length === 1 ? name : name.toLowerCase());
}

function partsOfObject(value: unknown): Map<Unit, number> | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const parts = new Map<Unit, number>();
  for (const [key, count] of Object.entries(value)) {
    if (!Object.hasOwn(UNIT_MS, key)) return undefined;
    if (count === undefined) continue;
    if (typeof count !== "number" || !(count >= 0)) return undefined;
    parts.set(key as Unit, count);
  }
  return parts;
}

/** Rounds up, but ignores the noise of a floating-point product: 0.07 minutes is 4200 ms, not 4201. */
function roundUp(ms: number): number {
  const nearest = Math.round(ms);
  return Math.abs(ms - nearest) <= nearest * 8 * Number.EPSILON ? nearest : Math.ceil(ms);
}
