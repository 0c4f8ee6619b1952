import { isOpen, mustLook, remembered } from "../model/decisions/schedule.ts";
import { isClosed } from "../model/run-status.ts";
import type { OpenRun, Schedule, ScheduleDecision } from "../model/schedule.ts";
import type {
  DueSchedulesParams,
  DueSchedulesResult,
  ListSchedulesParams,
  PutSchedule,
  PutScheduleOutcome,
  PutSchedulesParams,
  PutSchedulesResult,
  ScheduleOutlook,
  ScheduleRef,
} from "../ports/store.ts";
import { owing } from "./debts/debt-state.ts";
import { terminate } from "./runs/interventions.ts";
import { startRuns } from "./runs/starts.ts";
import { findRun, idKey, type MemoryState, type ScheduleRecord } from "./state.ts";

export function putSchedules(state: MemoryState, params: PutSchedulesParams, now: number): PutSchedulesResult {
  const outcomes = params.puts.map((put) => putSchedule(state, put, now));
  if (params.announce) state.hints.push({ type: "schedule" });
  return { outcomes, now };
}

function putSchedule(state: MemoryState, put: PutSchedule, now: number): PutScheduleOutcome {
  const { namespace, id, revision, next, decided, terminates } = put;
  const key = idKey(namespace, id);
  const known = state.schedules.get(key);
  if (known?.revision === next) return { outcome: "written" };
  if ((known?.revision ?? null) !== revision) return { outcome: "moved" };
  if (put.assumes && known && isOpen(openRunOf(state, known)) !== put.assumes.open) return { outcome: "moved" };
  const makesWay = terminates && known && findRun(state, { namespace, id: known.state.openId ?? "" });
  if (terminates && (makesWay?.runId !== terminates.runId || isClosed(makesWay.status))) return { outcome: "moved" };
  const definition = put.definition ?? known?.definition;
  const input = put.input ?? known?.input;
  if (!definition || !input) return { outcome: "moved" };
  const taken = put.starts.flatMap(({ run }) =>
    findRun(state, { namespace: run.namespace, id: run.id }) ? [run.id] : [],
  );
  if (taken.length > 0) return { outcome: "taken", taken };
  const decisions = remembered(known?.decisions ?? [], decided);
  const createdAt = known?.createdAt ?? now;
  state.schedules.set(key, {
    namespace,
    id,
    revision: next,
    createdAt,
    definition,
    input,
    state: put.state,
    decisions,
  });
  if (terminates && makesWay) terminate(state, makesWay, terminates.error, now);
  startRuns(state, { starts: put.starts, holdBy: null, replaceError: NEVER_REPLACED }, now);
  return { outcome: "written", ...(makesWay ? owing(state, makesWay.runId) : {}) };
}

/** No start of a schedule replaces a run. */
const NEVER_REPLACED = { name: "Error", message: "", kind: "Unknown" } as const;

export function dueSchedules(state: MemoryState, params: DueSchedulesParams, now: number): DueSchedulesResult {
  const { limit, after } = params;
  const all = [...state.schedules.values()];
  const isDue = ({ state: { nextAt } }: ScheduleRecord): boolean => nextAt !== null && nextAt <= now;
  const due = all.filter(isDue).sort(byTime);
  const later = all.filter((one) => !isDue(one));
  const waiting = later.filter((one) => mustLook(one.state, openRunOf(state, one))).sort(byId);
  const found = after
    ? [
        ...due.filter((one) => after.dueAt !== null && byTime(one, { ...after, state: { nextAt: after.dueAt } }) > 0),
        ...waiting.filter((one) => after.dueAt !== null || byId(one, after) > 0),
      ]
    : [...due, ...waiting];
  const schedules = found.slice(0, limit).map((one) => scheduleOf(state, one));
  const waits = all.filter((one) => one.state.waits !== "no").sort(byId);
  const awaited = waits.slice(0, limit).flatMap((one) => awaitedOf(openRunOf(state, one)));
  return { schedules, now, awaited, more: found.length > limit, ...outlookOf(later), waiting: isWaiting(all) };
}

function awaitedOf(open: OpenRun | null): string[] {
  return open && isOpen(open) ? [open.runId] : [];
}

type Timed = ScheduleRef & { readonly state: { readonly nextAt: number | null } };

function byTime(a: Timed, b: Timed): number {
  return (a.state.nextAt as number) - (b.state.nextAt as number) || byId(a, b);
}

function byId(a: ScheduleRef, b: ScheduleRef): number {
  if (a.namespace !== b.namespace) return a.namespace < b.namespace ? -1 : 1;
  return a.id === b.id ? 0 : a.id < b.id ? -1 : 1;
}

/** When the leader has something to do. */
export function scheduleOutlook(state: MemoryState): ScheduleOutlook {
  return outlookOf([...state.schedules.values()]);
}

function outlookOf(schedules: readonly ScheduleRecord[]): ScheduleOutlook {
  let earliest: number | null = null;
  for (const { state } of schedules)
    if (state.nextAt !== null) earliest = Math.min(state.nextAt, earliest ?? state.nextAt);
  return { nextAt: earliest, waiting: isWaiting(schedules) };
}

function isWaiting(schedules: readonly ScheduleRecord[]): boolean {
  return schedules.some(({ state: { waits } }) => waits !== "no");
}

export function readSchedules(
  state: MemoryState,
  { schedules }: { readonly schedules: readonly ScheduleRef[] },
): (Schedule | null)[] {
  return schedules.map(({ namespace, id }) => {
    const known = state.schedules.get(idKey(namespace, id));
    return known ? scheduleOf(state, known) : null;
  });
}

export function readDecisions(state: MemoryState, { namespace, id }: ScheduleRef): readonly ScheduleDecision[] {
  return state.schedules.get(idKey(namespace, id))?.decisions ?? [];
}

export function listSchedules(state: MemoryState, params: ListSchedulesParams): Schedule[] {
  const { namespace, after, failing, limit } = params;
  const wanted = [...state.schedules.values()].filter(
    (one) =>
      one.namespace === namespace &&
      (after === undefined || one.id > after) &&
      (!failing || one.state.failures > 0 || isStuck(openRunOf(state, one))),
  );
  return wanted
    .sort(byId)
    .slice(0, limit)
    .map((one) => scheduleOf(state, one));
}

function isStuck(open: OpenRun | null): boolean {
  return open?.status === "failed" || open?.status === "timed_out" || open?.status === "parked";
}

export function removeSchedule(state: MemoryState, { namespace, id }: ScheduleRef): { removed: boolean } {
  return { removed: state.schedules.delete(idKey(namespace, id)) };
}

function scheduleOf(state: MemoryState, record: ScheduleRecord): Schedule {
  const { decisions: _decisions, ...row } = record;
  return { ...row, open: openRunOf(state, record) };
}

function openRunOf(state: MemoryState, { namespace, state: { openId } }: ScheduleRecord): OpenRun | null {
  const run = openId === null ? undefined : findRun(state, { namespace, id: openId });
  return run ? { runId: run.runId, status: run.status, error: run.error?.message ?? null } : null;
}
