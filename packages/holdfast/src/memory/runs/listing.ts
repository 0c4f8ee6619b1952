import type { Run, RunRow } from "../../model/run.ts";
import type { ListRunsParams, RunFilter, RunRef } from "../../ports/store.ts";
import { findRun, leanRow, type MemoryState, type RunRecord } from "../state.ts";

export function readRuns(state: MemoryState, params: { readonly runs: readonly RunRef[] }): (Run | null)[] {
  return params.runs.map((ref) => {
    const row = findRun(state, ref);
    return row ? { ...row } : null;
  });
}

export function listRuns(state: MemoryState, params: ListRunsParams): RunRow[] {
  const { before } = params;
  const rows = [...state.runs.values()].filter(
    (row) => matches(state, row, params) && (!before || compare(row, before) < 0),
  );
  return rows
    .sort((a, b) => compare(b, a))
    .slice(0, params.limit)
    .map(leanRow);
}

export function countRuns(state: MemoryState, filter: RunFilter & { readonly atMost: number | null }): number {
  let count = 0;
  for (const row of state.runs.values()) {
    if (count === filter.atMost) break;
    if (matches(state, row, filter)) count += 1;
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
  if (filter.createdAfter !== undefined && row.createdAt <= filter.createdAfter) return false;
  if (filter.createdBefore !== undefined && row.createdAt >= filter.createdBefore) return false;
  return Object.entries(filter.attributes ?? {}).every(([key, value]) => row.attributes[key] === value);
}
