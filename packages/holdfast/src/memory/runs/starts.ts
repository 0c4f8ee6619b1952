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
import { deliverWithStart, mayHaveHad } from "../inbox.ts";
import { limitedOf, placedRun } from "../queues/place-state.ts";
import { waitingIn } from "../queues/queues.ts";
import { findRun, hold, insertRun, isLive, leanRow, type MemoryState, type RunRecord, runIn } from "../state.ts";
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
  if (mine) return withMessages(state, "created", mine, start, params, now);
  const { parent } = start;
  const refused = parent && refusal(state, start, parent);
  if (refused) return refused;
  const other = findRun(state, { namespace: run.namespace, id: run.id });
  const [first] = start.messages ?? [];
  const isKnown = (): boolean =>
    other !== undefined && first !== undefined && mayHaveHad(state, other, first.messageId);
  const judged = judgeStart(
    other && { closed: isClosed(other.status), moved: other.status === "moved" },
    start,
    isKnown,
  );
  if (other) {
    if (judged === "exists") return { outcome: judged, run: leanRow(other) };
    if (judged === "returned") return withMessages(state, judged, other, start, params, now);
    if (judged === "replace") terminate(state, other, params.replaceError, now);
  }
  if (params.bounded && judged === "create" && isFull(state, run, now)) return { outcome: "queue_full", run: null };
  const hintsBefore = state.hints.length;
  const row = insertRun(state, { ...run, version: pickVersion(state, start) }, now, null, parent && lineageOf(parent));
  if (parent) {
    const { namespace, runId } = row;
    addChild(state, parent.parent.runId, { namespace, runId, policy: parent.policy, open: true, givenUp: false });
  }
  const dueNow = isDue(row.availableAt, now) && !limitedOf(state, placedRun(row));
  const { holdBy } = params;
  if (start.hold && holdBy && dueNow && isLive(state, { namespace: run.namespace, workerId: holdBy.workerId })) {
    hold(state, row, holdBy.workerId, holdBy.claimId, now);
    // Already held: no hint is needed.
    state.hints.length = hintsBefore;
  }
  const owes = judged === "replace" && other && state.debtsOf.has(other.runId);
  const outcome = withMessages(state, "created", row, start, params, now);
  return owes ? { ...outcome, owes: { runId: other.runId } } : outcome;
}

function isFull(state: MemoryState, { namespace, queue }: StartRun["run"], now: number): boolean {
  const backlog = limitedOf(state, { namespace, queue, seq: 0 })?.limits.backlog;
  return backlog !== undefined && waitingIn(state, namespace, queue, now) >= backlog;
}

function refusal(state: MemoryState, { run }: StartRun, { parent }: StartParent): RefusedStart | undefined {
  const row = runIn(state, parent.namespace, parent.runId);
  const allowed = isAllowed(state, run.namespace, parent.namespace);
  const givenUp = isGivenUp(state, parent.runId, run.runId);
  const judged = judgeParent(row && { closed: isClosed(row.status) }, givenUp, allowed);
  return judged === "go_on" ? undefined : { outcome: judged, run: null };
}

/** A run that was just created and is held has no need of a hint: its holder learns from the row that it has messages. */
function withMessages(
  state: MemoryState,
  outcome: StartOutcome["outcome"],
  row: RunRecord,
  start: StartRun,
  { inboxMax = Number.POSITIVE_INFINITY }: StartRunsParams,
  now: number,
): StartOutcome {
  if (start.messages === undefined) return { outcome, run: leanRow(row) };
  const messages = deliverWithStart(state, row, start, inboxMax, now);
  return { outcome, run: leanRow(row), messages };
}
