/** A schedule as a calendar: what became of past times, and the coming ones. */
import { refusal } from "../answers/refusal.ts";
import type { ScheduleCalendar } from "../api/operation-messages.ts";
import { rowsOf } from "./listed-rows.ts";
import { wholeNumber } from "./query-values.ts";
import { type Ask, storeNow } from "./scope.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const RANGE_MS_MAX = 62 * DAY_MS;
const TIMES_MAX = 2_000;
const SCHEDULED_AT = "holdfast.scheduledAt";

type Time = ScheduleCalendar["times"][number];

export async function scheduleCalendar({ scope, parts, query }: Ask): Promise<ScheduleCalendar> {
  const now = await storeNow(scope);
  const from = wholeNumber(query, "from", now - 14 * DAY_MS, Number.MAX_SAFE_INTEGER);
  const to = wholeNumber(query, "to", now + 28 * DAY_MS, Number.MAX_SAFE_INTEGER);
  if (to <= from || to - from > RANGE_MS_MAX) throw refusal(400, "bad_request", "A calendar has from 1 ms to 62 days.");
  const handle = scope.view.schedules.get(parts["id"] as string);
  const { spec, decisions } = await handle.describe();
  const times = new Map<number, Time>();
  const within = (at: number): boolean => at >= from && at < to;
  for (const run of (await handle.runs({ limit: 1_000 })).runs) {
    const scheduled = run.attributes[SCHEDULED_AT];
    const at = scheduled === undefined ? run.createdAt.getTime() : new Date(`${scheduled}`).getTime();
    if (within(at)) times.set(at, { at, what: "fired", status: run.status, runId: run.runId });
  }
  const past = decisions.filter(({ at }) => within(at.getTime()) && !times.has(at.getTime()));
  const rows = await rowsOf(
    scope,
    past.flatMap(({ runId }) => (runId === undefined ? [] : [runId])),
  );
  const statuses = new Map(rows.map(({ runId, status }) => [runId, status]));
  for (const { at, what, runId } of past)
    times.set(at.getTime(), {
      at: at.getTime(),
      what,
      status: (runId === undefined ? undefined : statuses.get(runId)) ?? null,
      runId: runId ?? null,
    });
  const coming = to > now ? await handle.upcoming(TIMES_MAX) : [];
  for (const time of coming) {
    const at = time.getTime();
    if (within(at) && !times.has(at)) times.set(at, { at, what: "coming", status: null, runId: null });
  }
  const sorted = [...times.values()].sort((a, b) => a.at - b.at);
  const timezone = spec.timezone ?? "UTC";
  return {
    timezone,
    times: sorted.slice(0, TIMES_MAX),
    capped: sorted.length > TIMES_MAX || (coming.length === TIMES_MAX && (coming.at(-1)?.getTime() ?? 0) < to),
    clockChanges: clockChanges(timezone, from, to),
  };
}

/** When a zone's distance from UTC changes, to the minute, and by how many minutes. */
export function clockChanges(timezone: string, from: number, to: number): { at: number; minutes: number }[] {
  const found: { at: number; minutes: number }[] = [];
  const offset = offsetIn(timezone);
  for (let at = from; at < to; at += 6 * HOUR_MS) {
    const [before, after] = [offset(at), offset(Math.min(at + 6 * HOUR_MS, to))];
    if (before === after) continue;
    let [low, high] = [at, Math.min(at + 6 * HOUR_MS, to)];
    while (high - low > 60_000) {
      const middle = Math.floor((low + high) / 2);
      if (offset(middle) === before) low = middle;
      else high = middle;
    }
    found.push({ at: Math.round(high / 60_000) * 60_000, minutes: after - before });
  }
  return found;
}

function offsetIn(timezone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat("en-US", { timeZone: timezone, timeZoneName: "longOffset" });
  return (at) => {
    const name = format.formatToParts(at).find(({ type }) => type === "timeZoneName")?.value ?? "GMT";
    const [, sign, hours, minutes] = /GMT([+-])(\d\d):(\d\d)/.exec(name) ?? [];
    return (sign === "-" ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0));
  };
}
