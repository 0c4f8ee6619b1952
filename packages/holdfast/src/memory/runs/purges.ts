import { isClosed } from "../../model/run.ts";
import { scheduleIdOf } from "../../model/schedule.ts";
import type { PurgeRunsParams, PurgeRunsResult } from "../../ports/store.ts";
import { idKey, type MemoryState, type RunRecord } from "../state.ts";
import { deleteTask, tasksOfRun } from "../tasks/task-state.ts";

export function purgeRuns(state: MemoryState, params: PurgeRunsParams): PurgeRunsResult {
  const { after, limit } = params;
  const mayGo = (row: RunRecord): boolean =>
    isOld(row, params) &&
    !state.debtsOf.has(row.runId) &&
    !state.departures.has(row.runId) &&
    (!after || byEnd(row, after) > 0);
  const named = params.runIds && [...new Set(params.runIds)].flatMap((runId) => state.runs.get(runId) ?? []);
  const old = [...(named ?? state.runs.values())].filter(mayGo).sort(byEnd);
  const found = old.slice(0, limit);
  const purged = found.filter((row) => !params.sparesLastOfSchedules || !isLastOfSchedule(state, row));
  for (const row of purged) purgeRun(state, row);
  const last = found.at(-1);
  const position = last ? { endedAt: last.endedAt as number, runId: last.runId } : null;
  return { purged: purged.length, more: old.length > limit, last: position };
}

/** A run that has continued is never the last one of its id. */
function isLastOfSchedule(state: MemoryState, { namespace, id, status }: RunRecord): boolean {
  const schedule = scheduleIdOf(id);
  if (schedule === undefined || status === "continued") return false;
  return state.schedules.get(idKey(namespace, schedule))?.state.openId === id;
}

function isOld(row: RunRecord, { namespace, endedBefore, statuses }: PurgeRunsParams): boolean {
  if (row.namespace !== namespace || !isClosed(row.status) || row.endedAt === null) return false;
  return row.endedAt < endedBefore && (statuses?.includes(row.status) ?? true);
}

type Ended = Pick<RunRecord, "endedAt" | "runId">;

function byEnd(a: Ended, b: Ended): number {
  return (a.endedAt as number) - (b.endedAt as number) || (a.runId === b.runId ? 0 : a.runId < b.runId ? -1 : 1);
}

export function purgeRun(state: MemoryState, row: RunRecord): void {
  const { runId, firstRunId } = row;
  const key = idKey(row.namespace, row.id);
  const others = (state.byId.get(key) ?? []).filter((other) => other !== runId);
  if (others.length > 0) state.byId.set(key, others);
  else state.byId.delete(key);
  state.runs.delete(runId);
  state.runNumbers.delete(runId);
  state.events.delete(runId);
  state.segments.delete(runId);
  state.inbox.delete(runId);
  state.children.delete(runId);
  for (const [name, debounced] of state.debounces) if (debounced.runId === runId) state.debounces.delete(name);
  for (const task of tasksOfRun(state, runId)) deleteTask(state, task);
  if (others.some((other) => state.runs.get(other)?.firstRunId === firstRunId)) return;
  state.messageIds.delete(firstRunId);
  state.watches.delete(firstRunId);
  state.updates.delete(firstRunId);
  if (row.lineage) state.children.get(row.lineage.parent.runId)?.delete(firstRunId);
}
