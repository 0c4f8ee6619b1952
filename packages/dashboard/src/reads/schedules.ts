import type { ScheduleSummary } from "holdfast";
import type {
  ScheduleDecisionRow,
  SchedulePage,
  ScheduleRow,
  ScheduleSpec,
  SchedulesPage,
} from "../api/operation-messages.ts";
import { rowsOf } from "./listed-rows.ts";
import { wholeNumber } from "./query-values.ts";
import { runRow, shownAttributes } from "./run-row.ts";
import { type Ask, type Scope, storeNow } from "./scope.ts";
import { BRIEF_CHARACTERS } from "./shown-value.ts";

const UPCOMING = 20;
const RUNS = 50;

export async function schedules({ scope, query }: Ask): Promise<SchedulesPage> {
  const cursor = query.get("cursor");
  const limit = Math.max(1, wholeNumber(query, "limit", 100, 500));
  const page = await scope.view.schedules.list({ limit, ...(cursor ? { cursor } : {}) });
  return {
    schedules: page.schedules.map((one) => scheduleRow(scope, one)),
    cursor: page.cursor,
    now: await storeNow(scope),
  };
}

export async function schedule({ scope, parts }: Ask): Promise<SchedulePage> {
  const { namespace, view, values } = scope;
  const handle = view.schedules.get(parts["id"] as string);
  const described = await handle.describe();
  const [upcoming, runs, now] = await Promise.all([
    handle.upcoming(UPCOMING),
    handle.runs({ limit: RUNS }),
    storeNow(scope),
  ]);
  const { input, priority, attributes, timeoutMs, catchUp, decisions, workflow } = described;
  const started = await rowsOf(
    scope,
    decisions.flatMap(({ runId }) => (runId === undefined ? [] : [runId])),
  );
  const statuses = new Map(started.map(({ runId, status }) => [runId, status]));
  return {
    schedule: {
      ...scheduleRow(scope, described),
      input: values.show(input, { namespace, workflow, what: "input" }, BRIEF_CHARACTERS),
      priority,
      attributes: shownAttributes(attributes),
      timeoutMs,
      catchUp,
    },
    decisions: [...decisions].reverse().map(
      ({ at, what, reason, runId }): ScheduleDecisionRow => ({
        at: at.getTime(),
        what,
        reason: reason ?? null,
        runId: runId ?? null,
        status: (runId === undefined ? undefined : statuses.get(runId)) ?? null,
      }),
    ),
    upcoming: upcoming.map((at) => at.getTime()),
    runs: runs.runs.map(runRow),
    now,
  };
}

function scheduleRow({ values }: Scope, one: ScheduleSummary): ScheduleRow {
  const { id, workflow, version, queue, spec, overlap, paused, note, by, openId, openStatus, buffered } = one;
  return {
    id,
    workflow,
    version,
    queue,
    spec: specOf(spec),
    when: whenOf(spec),
    overlap,
    paused,
    note,
    by,
    nextAt: one.nextAt?.getTime() ?? null,
    lastAt: one.lastAt?.getTime() ?? null,
    openId,
    openStatus,
    buffered,
    failures: one.failures,
    lastError: one.lastError === null ? null : values.errorText(one.lastError),
    createdAt: one.createdAt.getTime(),
  };
}

function specOf(spec: ScheduleSummary["spec"]): ScheduleSpec {
  const { cron, every, at, timezone, jitter, from, until } = spec;
  return {
    ...(cron === undefined ? {} : { cron }),
    ...(every === undefined ? {} : { every }),
    ...(at === undefined ? {} : { at: [at].flat().map((one) => (one as Date).getTime()) }),
    ...(timezone === undefined ? {} : { timezone }),
    ...(jitter === undefined ? {} : { jitter: `${jitter}` }),
    ...(from === undefined ? {} : { from: from.getTime() }),
    ...(until === undefined ? {} : { until: until.getTime() }),
  };
}

function whenOf({ cron, every, at }: ScheduleSummary["spec"]): string {
  const intervals = every === undefined ? [] : Array.isArray(every) ? every : [every];
  const parts = [
    ...(cron === undefined ? [] : [cron].flat()),
    ...intervals.map((one) => (typeof one === "object" && "every" in one ? `every ${one.every}` : `every ${one}`)),
  ];
  const dates = at === undefined ? [] : [at].flat();
  if (dates.length > 0) parts.push(dates.length === 1 ? (dates[0] as Date).toISOString() : `${dates.length} dates`);
  return parts.join(", ");
}
