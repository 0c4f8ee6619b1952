import { narrowed, waitsFor } from "../../model/decisions/run-filter.ts";
import { listedError } from "../../model/error-record.ts";
import type { Run } from "../../model/run.ts";
import { isRetrying } from "../../model/waiting.ts";
import type { ListedRun, ListRunsParams, RunFilter, RunRef } from "../../ports/store.ts";
import { findRun, leanRow, type MemoryState, type RunRecord } from "../state.ts";

export function readRuns(state: MemoryState, params: { readonly runs: readonly RunRef[] }): (Run | null)[] {
  return params.runs.map((ref) => {
    const row = findRun(state, ref);
    return row ? { ...row } : null;
  });
}

export function listRuns(state: MemoryState, params: ListRunsParams): ListedRun[] {
  const { before } = params;
  const filter = narrowed(params);
  const rows = [...state.runs.values()].filter(
    (row) => matches(state, row, filter) && (!before || compare(row, before) < 0),
  );
  return rows
    .sort((a, b) => compare(b, a))
    .slice(0, params.limit)
    .map((row) => listed(state, row));
}

function listed(state: MemoryState, row: RunRecord): ListedRun {
  return { ...leanRow(row), lastEventAt: lastEventAt(state, row), error: row.error && listedError(row.error) };
}

function lastEventAt(state: MemoryState, { runId }: RunRecord): number | null {
  return state.events.get(runId)?.at(-1)?.at ?? null;
}

export function countRuns(state: MemoryState, filter: RunFilter & { readonly atMost: number | null }): number {
  let count = 0;
  const wanted = narrowed(filter);
  for (const row of state.runs.values()) {
    if (count === filter.atMost) break;
    if (matches(state, row, wanted)) count += 1;
  }
  return count;
}

type Place = Pick<RunRecord, "createdAt" | "runId">;

function compare(a: Place, b: Place): number {
  return a.createdAt - b.createdAt || (a.runId < b.runId ? -1 : a.runId > b.runId ? 1 : 0);
}

function matches(state: MemoryState, row: RunRecord, filter: RunFilter): boolean {
  if (row.namespace !== filter.namespace) return false;
  if (filter.workflow !== undefined && row.workflow !== filter.workflow) return false;
  if (filter.version !== undefined && row.version !== filter.version) return false;
  if (filter.id !== undefined && row.id !== filter.id) return false;
  if (filter.queue !== undefined && row.queue !== filter.queue) return false;
  if (filter.statuses && !filter.statuses.includes(row.status)) return false;
  if (filter.parent !== undefined && !state.children.get(filter.parent)?.has(row.firstRunId)) return false;
  if (filter.forkedFrom !== undefined && row.forkedFrom?.runId !== filter.forkedFrom) return false;
  if (filter.createdAfter !== undefined && row.createdAt <= filter.createdAfter) return false;
  if (filter.createdBefore !== undefined && row.createdAt >= filter.createdBefore) return false;
  if (!matchesState(state, row, filter)) return false;
  return Object.entries(filter.attributes ?? {}).every(([key, value]) => row.attributes[key] === value);
}

/** What a run waits for, and how it has ended: its status fits. */
function matchesState(state: MemoryState, row: RunRecord, filter: RunFilter): boolean {
  const { waitingFor, retrying, waitingSince, error, endedAfter, endedBefore } = filter;
  if (waitingFor !== undefined && !row.waitingFor.some((entry) => waitsFor(entry, waitingFor))) return false;
  if (retrying && !isRetrying(row.waitingFor)) return false;
  if (waitingSince !== undefined) {
    const since = lastEventAt(state, row) ?? row.startedAt ?? row.createdAt;
    if (row.heldBy !== null || since > waitingSince) return false;
  }
  if (error !== undefined && row.error?.code !== error && row.error?.kind !== error) return false;
  if (endedAfter !== undefined && (row.endedAt === null || row.endedAt <= endedAfter)) return false;
  return endedBefore === undefined || (row.endedAt !== null && row.endedAt < endedBefore);
}
