import { deadlineFrom, isDue } from "../../model/decisions/due-time.ts";
import { isClosed } from "../../model/run.ts";
import type { DebounceParams, RefusedStart, StartOutcome } from "../../ports/store.ts";
import { isOver, leaveLine, placedRun } from "../queues/place-state.ts";
import { leanRow, type MemoryState, noteQueue, type RunRecord, setAvailable } from "../state.ts";
import { pickVersion } from "../versions.ts";
import { startRuns } from "./starts.ts";

export function debounceRun(state: MemoryState, params: DebounceParams, now: number): StartOutcome | RefusedStart {
  const { run } = params.start;
  const name = [run.namespace, run.workflow, params.key].join("\n");
  const known = state.debounces.get(name);
  const row = known && state.runs.get(known.runId);
  if (known?.call === run.runId && row)
    return { outcome: row.runId === run.runId ? "created" : "returned", run: leanRow(row) };
  if (known && row && isUnbegun(state, row, now)) {
    known.call = run.runId;
    leaveLine(state, placedRun(row));
    row.input = run.input;
    row.version = pickVersion(state, params.start);
    row.queue = run.queue;
    row.priority = run.priority;
    row.attributes = run.attributes;
    row.timeoutMs = run.timeoutMs ?? null;
    row.deadlineAt = deadlineFrom(now, run.timeoutMs);
    if (row.deadlineAt === null) state.deadlines.delete(row.runId);
    else state.deadlines.add(row.runId);
    noteQueue(state, row);
    if (row.status !== "parked") putOff(state, row, params, now);
    return { outcome: "returned", run: leanRow(row) };
  }
  const start = { ...params.start, run: { ...run, startDelayMs: params.forMs } };
  const rest = { holdBy: null, replaceError: { name: "Error", message: "", kind: "Unknown" }, bounded: true } as const;
  const outcome = startRuns(state, { starts: [start], ...rest }, now).outcomes[0] as StartOutcome | RefusedStart;
  if (outcome.outcome === "created") state.debounces.set(name, { runId: run.runId, call: run.runId });
  return outcome;
}

function isUnbegun(state: MemoryState, row: RunRecord, now: number): boolean {
  return row.startedAt === null && !isClosed(row.status) && !isOver(state, row, now);
}

function putOff(state: MemoryState, row: RunRecord, { forMs, maxMs }: DebounceParams, now: number): void {
  row.waitingFor = [];
  setAvailable(
    state,
    row,
    Math.min(now + forMs, maxMs === null ? Number.POSITIVE_INFINITY : row.createdAt + maxMs),
    now,
  );
  const { namespace, queue, availableAt: at } = row;
  if (at !== null && !isDue(at, now)) state.hints.push({ type: "due", namespace, queue, at });
}
