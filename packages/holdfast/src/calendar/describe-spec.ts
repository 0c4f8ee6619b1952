import type { CalendarSpec } from "../model/calendar-spec.ts";
import { formatDuration } from "../model/duration.ts";

const AT_SHOWN_MAX = 3;

/** One line for people: `cron 0 2 * * * (Europe/Berlin), every 1h offset 5m, until 2027-01-01T00:00:00.000Z`. */
export function describeSpec(spec: CalendarSpec): string {
  const parts = spec.cron.map((cron) => `cron ${cron} (${spec.timezone})`);
  for (const { everyMs, offsetMs } of spec.every) {
    parts.push(`every ${formatDuration(everyMs)}${offsetMs === 0 ? "" : ` offset ${formatDuration(offsetMs)}`}`);
  }
  for (const at of spec.at.slice(0, AT_SHOWN_MAX)) parts.push(`at ${iso(at)}`);
  if (spec.at.length > AT_SHOWN_MAX) parts.push(`and ${spec.at.length - AT_SHOWN_MAX} more`);
  if (spec.fromMs !== null) parts.push(`from ${iso(spec.fromMs)}`);
  if (spec.untilMs !== null) parts.push(`until ${iso(spec.untilMs)}`);
  if (spec.jitterMs > 0) parts.push(`delayed by up to ${formatDuration(spec.jitterMs)}`);
  return parts.join(", ");
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
