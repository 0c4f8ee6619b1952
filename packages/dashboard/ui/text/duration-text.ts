const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** "38 ms", "5.6 s", "2 m 4 s", "2 h 11 m", "3 d 4 h": two units at most, as precise as a person needs. */
export function durationText(ms: number): string {
  if (!Number.isFinite(ms)) return "–";
  if (ms < 0) return `-${durationText(-ms)}`;
  if (ms < 1) return ms === 0 ? "0 ms" : `${trimmed(ms, 2)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${trimmed(ms / SECOND, 1)} s`;
  const whole = Math.round(ms / SECOND) * SECOND;
  if (whole < HOUR) return two(Math.floor(whole / MINUTE), "m", Math.round((whole % MINUTE) / SECOND), "s");
  const minutes = Math.round(ms / MINUTE) * MINUTE;
  if (minutes < DAY) return two(Math.floor(minutes / HOUR), "h", Math.round((minutes % HOUR) / MINUTE), "m");
  const hours = Math.round(ms / HOUR) * HOUR;
  return two(Math.floor(hours / DAY), "d", Math.round((hours % DAY) / HOUR), "h");
}

/** "just now", "12 s ago", "in 3 d 4 h". */
export function ageText(ms: number): string {
  if (Math.abs(ms) < SECOND) return "just now";
  const whole = Math.abs(ms) < MINUTE ? Math.floor(Math.abs(ms) / SECOND) * SECOND : Math.abs(ms);
  return ms > 0 ? `${durationText(whole)} ago` : `in ${durationText(whole)}`;
}

function two(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}

function trimmed(value: number, digits: number): string {
  return String(Number(value.toFixed(digits)));
}
