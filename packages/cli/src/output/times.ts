/** Times and durations for people. */
const UNITS: readonly (readonly [name: string, ms: number])[] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
];
const DAYS_SHOWN_MS = 60 * 86_400_000;

/** `250ms`, `1.2s`, `3m 20s`, `2d 4h`. */
export function shortDuration(ms: number): string {
  const rounded = Math.round(Math.abs(ms));
  if (rounded < 1_000) return `${rounded}ms`;
  if (rounded < 10_000) return `${(rounded / 1_000).toFixed(1).replace(/\.0$/, "")}s`;
  for (const [index, [name, unit]] of UNITS.entries()) {
    if (rounded < unit) continue;
    const whole = Math.floor(rounded / unit);
    const next = UNITS[index + 1];
    const rest = next === undefined ? 0 : Math.floor((rounded % unit) / next[1]);
    return rest === 0 || next === undefined ? `${whole}${name}` : `${whole}${name} ${rest}${next[0]}`;
  }
  return `${rounded}ms`;
}

/** `3m ago`, `in 2h`, or the date if it is far away. */
export function relativeTime(time: Date | number | null | undefined, now: number): string {
  if (time === null || time === undefined) return "";
  const at = new Date(time).getTime();
  const distance = now - at;
  if (Math.abs(distance) > DAYS_SHOWN_MS) return new Date(at).toISOString().slice(0, 10);
  if (Math.abs(distance) < 1_000) return "now";
  const [unit] = UNITS.filter(([, ms]) => Math.abs(distance) >= ms);
  const [name, ms] = unit as (typeof UNITS)[number];
  const text = `${Math.floor(Math.abs(distance) / ms)}${name}`;
  return distance > 0 ? `${text} ago` : `in ${text}`;
}

/** Date and time with its distance: `2026-03-01 12:00:03 UTC (3m ago)`. */
export function fullTime(time: Date | number | null | undefined, now: number): string {
  if (time === null || time === undefined) return "";
  return `${stamp(time)} (${relativeTime(time, now)})`;
}

export function stamp(time: Date | number): string {
  return `${new Date(time).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}
