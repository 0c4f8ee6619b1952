import { COMPENSATE_PREFIX } from "../../model/ids.ts";
import type { ForkOutcome, ForkParams } from "../../ports/store.ts";
import { takenRunId } from "../../ports/taken-run-id.ts";
import { findRun, insertRun, leanRow, type MemoryState, type RunRecord, runIn } from "../state.ts";
import { appendNote } from "./parking.ts";

export function forkRun(state: MemoryState, params: ForkParams, now: number): ForkOutcome {
  const { run, origin: ref } = params;
  const mine = state.runs.get(run.runId);
  if (mine && mine.namespace !== run.namespace) throw takenRunId(run.runId);
  if (mine) return { outcome: "forked", run: leanRow(mine) };
  const origin = runIn(state, ref.namespace, ref.runId);
  if (!origin || origin.eventCount < params.copied) return { outcome: "not_found", run: null };
  if (mayBeUndone(state, origin, params.judged)) return { outcome: "compensated", run: null };
  const other = findRun(state, { namespace: run.namespace, id: run.id });
  if (other) return { outcome: "exists", run: leanRow(other) };
  return { outcome: "forked", run: leanRow(create(state, origin, params, now)) };
}

function mayBeUndone(state: MemoryState, { runId, status }: RunRecord, judged: number): boolean {
  const since = (state.events.get(runId) ?? []).slice(judged);
  return status === "compensating" || since.some(({ op }) => op?.startsWith(COMPENSATE_PREFIX));
}

function create(state: MemoryState, origin: RunRecord, params: ForkParams, now: number): RunRecord {
  const { run, copied, numberedFrom, event } = params;
  const row = insertRun(state, run, now, null);
  const { runId, id, startedAt } = origin;
  row.forkedFrom = { runId, id };
  row.startedAt = startedAt;
  if (startedAt !== null) row.status = "running";
  row.delivered = numberedFrom;
  row.consumed = numberedFrom;
  row.eventCount = copied;
  state.events.set(row.runId, (state.events.get(runId) ?? []).slice(0, copied));
  appendNote(state, row, event, now);
  return row;
}
