import { createHash } from "node:crypto";
import type { CalendarSpec } from "../model/calendar-spec.ts";

/** How much later than `at` the run of that time starts: 0 to `jitterMs`, always the same for the same schedule and time. */
export function jitterMs(spec: CalendarSpec, scheduleId: string, at: number): number {
  if (spec.jitterMs === 0) return 0;
  const hash = createHash("sha256").update(`${scheduleId}@${at}`).digest();
  return hash.readUIntBE(0, 6) % (spec.jitterMs + 1);
}
