import { isDue } from "../../model/decisions/due-time.ts";
import { judgeStart } from "../../model/decisions/start.ts";
import { isClosed } from "../../model/run.ts";
import type { StartOutcome, StartRun, StartRunsParams, StartRunsResult } from "../../ports/store.ts";
import { takenRunId } from "../../ports/taken-run-id.ts";
import { findRun, hold, insertRun, isLive, leanRow, type MemoryState } from "../state.ts";
import { pickVersion } from "../versions.ts";
import { terminate } from "./interventions.ts";

export function startRuns(state: MemoryState, params: StartRunsParams, now: number): StartRunsResult {
  return { outcomes: params.starts.map((start) => startRun(state, start, params, now)), now };
}

function startRun(state: MemoryState, start: StartRun, params: StartRunsParams, now: number): StartOutcome {
  const { run } = start;
  const mine = state.runs.get(run.runId);
  if (mine && mine.namespace !== run.namespace) throw takenRunId(run.runId);
  if (mine) return { outcome: "created", run: leanRow(mine) };
  const other = findRun(state, { namespace: run.namespace, id: run.id });
  const judged = judgeStart(other && { closed: isClosed(other.status) }, start);
  if (other) {
    if (judged === "returned" || judged === "exists") return { outcome: judged, run: leanRow(other) };
    if (judged === "replace") terminate(state, other, params.replaceError, now);
  }
  const hintsBefore = state.hints.length;
  const row = insertRun(state, { ...run, version: pickVersion(state, start) }, now, null);
  const dueNow = isDue(row.availableAt, now);
  const { holdBy } = params;
  if (start.hold && holdBy && dueNow && isLive(state, { namespace: run.namespace, workerId: holdBy.workerId })) {
    hold(state, row, holdBy.workerId, holdBy.claimId, now);
    // Already held: no hint is needed.
    state.hints.length = hintsBefore;
  }
  return { outcome: "created", run: leanRow(row) };
}
