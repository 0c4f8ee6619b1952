import { isDue } from "../../model/decisions/due-time.ts";
import { judgeParent, judgeStart } from "../../model/decisions/start.ts";
import { isClosed } from "../../model/run.ts";
import type {
  RefusedStart,
  StartOutcome,
  StartParent,
  StartRun,
  StartRunsParams,
  StartRunsResult,
} from "../../ports/store.ts";
import { takenRunId } from "../../ports/taken-run-id.ts";
import { addChild, isAllowed, isGivenUp, lineageOf } from "../debts/debt-state.ts";
import { findRun, hold, insertRun, isLive, leanRow, type MemoryState, runIn } from "../state.ts";
import { pickVersion } from "../versions.ts";
import { terminate } from "./interventions.ts";

export function startRuns(state: MemoryState, params: StartRunsParams, now: number): StartRunsResult {
  return { outcomes: params.starts.map((start) => startRun(state, start, params, now)), now };
}

function startRun(
  state: MemoryState,
  start: StartRun,
  params: StartRunsParams,
  now: number,
): StartOutcome | RefusedStart {
  const { run } = start;
  const mine = state.runs.get(run.runId);
  if (mine && mine.namespace !== run.namespace) throw takenRunId(run.runId);
  if (mine) return { outcome: "created", run: leanRow(mine) };
  const { parent } = start;
  const refused = parent && refusal(state, start, parent);
  if (refused) return refused;
  const other = findRun(state, { namespace: run.namespace, id: run.id });
  const judged = judgeStart(other && { closed: isClosed(other.status) }, start);
  if (other) {
    if (judged === "returned" || judged === "exists") return { outcome: judged, run: leanRow(other) };
    if (judged === "replace") terminate(state, other, params.replaceError, now);
  }
  const hintsBefore = state.hints.length;
  const row = insertRun(state, { ...run, version: pickVersion(state, start) }, now, null, parent && lineageOf(parent));
  if (parent) {
    const { namespace, runId } = row;
    addChild(state, parent.parent.runId, { namespace, runId, policy: parent.policy, open: true, givenUp: false });
  }
  const dueNow = isDue(row.availableAt, now);
  const { holdBy } = params;
  if (start.hold && holdBy && dueNow && isLive(state, { namespace: run.namespace, workerId: holdBy.workerId })) {
    hold(state, row, holdBy.workerId, holdBy.claimId, now);
    // Already held: no hint is needed.
    state.hints.length = hintsBefore;
  }
  const owes = judged === "replace" && other && state.debtsOf.has(other.runId);
  return { outcome: "created", run: leanRow(row), ...(owes ? { owes: { runId: other.runId } } : {}) };
}

function refusal(state: MemoryState, { run }: StartRun, { parent }: StartParent): RefusedStart | undefined {
  const row = runIn(state, parent.namespace, parent.runId);
  const allowed = isAllowed(state, run.namespace, parent.namespace);
  const givenUp = isGivenUp(state, parent.runId, run.runId);
  const judged = judgeParent(row && { closed: isClosed(row.status) }, givenUp, allowed);
  return judged === "go_on" ? undefined : { outcome: judged, run: null };
}
