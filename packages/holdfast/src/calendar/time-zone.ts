/** What the calendar covers: the years 1900 to 9999, so that every time has the same ISO form. */
export const CALENDAR_START_MS = Date.UTC(1900, 0, 1);
export const CALENDAR_END_MS = Date.UTC(10_000, 0, 1) - 1;

export function isTimeZone(name: string): boolean {
  // Offsets ("+02:00") are accepted by some runtimes only.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat("en-US", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
