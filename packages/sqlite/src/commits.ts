import {
  type CommitOutcome,
  type CommitRunsParams,
  type CommitRunsResult,
  HoldfastError,
  type RunCommit,
  type Transition,
} from "holdfast/adapter";
import type { Call } from "./call.ts";
import { statusCode } from "./codes.ts";
import { appendEvent } from "./histories.ts";
import { appendMessage, unconsumed } from "./inbox.ts";
import { endRun, forgetDeaths, letGo, newestKey, noteError, type StateRow, stateByKey } from "./run-state.ts";
import { insertRun, replaceAttributes } from "./starts.ts";
import { newUuidBytes, uuidBytes } from "./uuid.ts";
import { workerKeyOf } from "./workers.ts";

/** What a commit that keeps the run has to know; every column that is read costs time. */
const FENCE = `
  select run_key as runKey, epoch, commit_no as "commit", held_by as heldBy, event_count as eventCount, delivered, status,
    deaths, alone_deaths as aloneDeaths, alone, suspect
  from holdfast_runs where run_id = ?`;

type Fence = Omit<
  StateRow,
  "runId" | "chainKey" | "laneId" | "consumed" | "availableAt" | "createdAt" | "startedAt" | "deadlineAt"
>;

/** No column of an index is among these: a commit that keeps the run rewrites its row and nothing else. */
const COUNT_ON = "update holdfast_runs set commit_no = commit_no + 1, event_count = ?, consumed = ? where run_key = ?";

const LOST: CommitOutcome = { outcome: "lost", held: false, delivered: 0 };

export function commitRuns(call: Call, params: CommitRunsParams): CommitRunsResult {
  const workerKey = workerKeyOf(call, params.workerId);
  const outcomes: CommitOutcome[] = [];
  const messages = [];
  for (const commit of params.commits) {
    const row = call.sql.get<Fence>(FENCE, uuidBytes(commit.runId));
    const outcome = row ? commitRun(call, row, workerKey, commit) : LOST;
    outcomes.push(outcome);
    if (row && outcome.held && commit.transition.type !== "hold")
      messages.push(...unconsumed(call, row.runKey, commit.consumed));
  }
  return { outcomes, messages, now: call.now };
}

function commitRun(call: Call, row: Fence, workerKey: number | undefined, commit: RunCommit): CommitOutcome {
  const mine = row.heldBy !== null && row.heldBy === workerKey;
  if (row.epoch !== commit.epoch) return LOST;
  if (row.commit === commit.commit + 1) return written(row, mine);
  if (row.commit !== commit.commit || !mine) return LOST;

  const eventCount = appendEvents(call, row, commit);
  call.sql.run(COUNT_ON, eventCount, commit.consumed, row.runKey);
  if (commit.clearDeadline) call.sql.run("update holdfast_runs set deadline_at = null where run_key = ?", row.runKey);
  if (commit.attributes) replaceAttributes(call, row.runKey, commit.attributes);
  if (commit.events.length > 0) forgetDeaths(call, row);
  const { transition } = commit;
  if (transition.type === "hold") {
    const status = statusCode(transition.status);
    if (status !== row.status)
      call.sql.run("update holdfast_runs set status = ? where run_key = ?", status, row.runKey);
    return written(row, true);
  }
  if (row.delivered !== commit.consumed && waitsForMessages(transition)) return written(row, true);
  move(call, stateByKey(call, row.runKey), commit);
  return written(row, false);
}

function written(row: Fence, held: boolean): CommitOutcome {
  return { outcome: "written", held, delivered: row.delivered };
}

function waitsForMessages(transition: Transition): boolean {
  return transition.type === "suspend" || (transition.type === "end" && transition.unlessBehind);
}

function appendEvents(call: Call, row: Fence, commit: RunCommit): number {
  let { eventCount } = row;
  for (const event of commit.events) {
    eventCount += 1;
    // (run, seq) is unique and without gaps; the fence should have caught whatever could break this.
    if (event.seq !== eventCount) {
      throw new HoldfastError(
        "invariant_broken",
        `run ${commit.runId}: event ${event.seq} does not follow ${eventCount - 1}`,
      );
    }
    appendEvent(call, row.runKey, event);
  }
  return eventCount;
}

function move(call: Call, row: StateRow, commit: RunCommit): void {
  const { transition } = commit;
  switch (transition.type) {
    case "suspend": {
      const { status, availableAt, waitingFor } = transition;
      return letGo(call, row, { status, dueAt: availableAt, waitingFor });
    }
    case "release":
      return letGo(call, row, { status: null, dueAt: call.now });
    case "end":
      return endRun(call, row, transition);
    case "park":
      noteError(call, row, transition.error);
      return letGo(call, row, { status: "parked", dueAt: null });
    case "continue":
      return continueAsNew(call, row, commit.consumed, transition);
  }
}

/** Carried messages come first, then the unconsumed ones; both are copies, the old inbox stays as it was. */
function continueAsNew(
  call: Call,
  row: StateRow,
  consumed: number,
  { next, carried }: Extract<Transition, { type: "continue" }>,
): void {
  const previousKey = newestKey(call, next.namespace, next.id);
  const previous = previousKey === null ? null : stateByKey(call, previousKey);
  const nextKey = insertRun(call, next, previous, { from: row });
  const messages = [...carried, ...unconsumed(call, row.runKey, consumed)];
  messages.forEach((message, i) => void appendMessage(call, nextKey, row.chainKey, i + 1, message));
  if (messages.length > 0)
    call.sql.run("update holdfast_runs set delivered = ? where run_key = ?", messages.length, nextKey);
  endRun(call, row, { status: "continued", output: null, error: null, continuedAs: newUuidBytes(next.runId) });
}
