import {
  type CommitOutcome,
  type CommitRunsParams,
  type CommitRunsResult,
  type HistoryEvent,
  HoldfastError,
  judgeCommit,
  keepsHolding,
  type Message,
  type RunCommit,
  staysHeld,
  storeCounts,
  type Transition,
} from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { statusCode } from "../database/codes.ts";
import { newUuidBytes } from "../database/uuid.ts";
import { giveUpChildren, owedToParent, owing } from "../debts/debt-state.ts";
import { appendEvent, lastEventAt, lastSeq } from "../histories.ts";
import { handOn, unconsumed } from "../inbox.ts";
import { giveBackLocks, insertLock } from "../locks/lock-state.ts";
import { keepReplies } from "../replies.ts";
import { changeTasks, type HeldTasks, NO_TASKS, tasksHeldSince } from "../tasks/commits.ts";
import { KnownWorkers } from "../workers.ts";
import { Appends } from "./appends.ts";
import { endRun } from "./ends.ts";
import { type Fence, fenceOf, knownFence } from "./fence.ts";
import { park } from "./parking.ts";
import { PlainEnds } from "./plain-ends.ts";
import { type Counts, forgetDeaths, isOf, letGo, newestKey, type StateRow, stateByKey } from "./run-state.ts";
import { insertRun, replaceAttributes } from "./starts.ts";

/** None of these columns is indexed: a commit that keeps the run held rewrites its row and nothing else. */
const COUNT_ON = "update holdfast_runs set commit_no = commit_no + 1, event_count = ?, consumed = ? where run_key = ?";

const LOST: CommitOutcome = { outcome: "lost", held: false, delivered: 0 };

export function commitRuns(call: Call, params: CommitRunsParams): CommitRunsResult {
  const workers = new KnownWorkers(call);
  const outcomes: CommitOutcome[] = [];
  const messages: Message[] = [];
  const appends = new Appends(call, workers);
  const ends = new PlainEnds(call);
  for (const commit of params.commits) {
    if (commit.transition.type === "append") {
      outcomes.push(appends.add(commit));
      continue;
    }
    const row = knownFence(call, commit, workers) ?? readFence(call, commit.runId, ends);
    const here = row !== undefined && isOf(call, row.laneId, commit.namespace);
    const outcome = here ? commitRun(call, row, { workers, ends }, commit) : LOST;
    outcomes.push(outcome);
    if (row) noteHold(call, row, commit, outcome, workers);
    if (row && outcome.held && !keepsHolding(commit.transition))
      messages.push(...unconsumed(call, row.runKey, commit.consumed));
  }
  appends.flush();
  ends.flush();
  return { outcomes, messages, now: call.now };
}

/** A call may have two commits of one run: the second must find what the first has written. */
function readFence(call: Call, runId: string, ends: PlainEnds): Fence | undefined {
  const row = fenceOf(call, runId);
  if (!row || !ends.has(row.runKey)) return row;
  ends.flush();
  return fenceOf(call, runId);
}

/** What the commits of one call have in common. */
interface Shared {
  readonly workers: KnownWorkers;
  readonly ends: PlainEnds;
}

/** What the row says after the commit, for the next one. */
function noteHold(
  { holds }: Call,
  row: Fence,
  commit: RunCommit,
  { outcome, held, delivered }: CommitOutcome,
  workers: KnownWorkers,
): void {
  const { namespace, runId, workerId, epoch, eventCount, transition } = commit;
  // One that was written before says nothing about what has been appended since.
  if (outcome !== "written" || !held || row.commit !== commit.commit) return holds.forget(runId);
  holds.note(runId, {
    runKey: row.runKey,
    namespace,
    workerId,
    taken: workers.find(workerId)?.taken ?? 0,
    epoch,
    commit: commit.commit + 1,
    delivered,
    eventCount,
    status: transition.type === "hold" ? statusCode(transition.status) : row.status,
    laneId: row.laneId,
    deadlineAt: commit.clearDeadline ? null : row.deadlineAt,
    plain: row.ties === null && !mayTie(commit) && (!row.marked || commit.events.length > 0),
  });
}

function mayTie({ closes, replies, locks }: RunCommit): boolean {
  return closes !== undefined || replies !== undefined || locks !== undefined;
}

function commitRun(call: Call, row: Fence, { workers, ends }: Shared, commit: RunCommit): CommitOutcome {
  const mine = row.heldBy !== null && row.heldBy === workers.find(commit.workerId)?.workerKey;
  const judged = judgeCommit(row, mine, commit);
  if (judged === "lost") return LOST;
  if (judged === "again") return written(call, row, mine, tasksHeldSince(call, commit, workers), row.ties);
  if (judged === "behind") return { outcome: "behind", held: true, delivered: row.delivered };

  const { sql } = call;
  const { runKey } = row;
  const tail = lastEventOf(commit);
  const eventCount = storeCounts(commit) ? lastSeq(call, runKey) : addEvents(call, row, commit, tail);
  const counts: Counts = { eventCount, consumed: commit.consumed };
  const tasks = changeTasks(call, runKey, commit, workers);
  let { ties } = row;
  if (commit.closes) ties = giveUpChildren(call, { runKey, ties, namespace: commit.namespace }, commit.closes);
  if (commit.replies && commit.replies.length > 0)
    ties = keepReplies(call, { runKey, ties, runId: commit.runId }, commit.replies);
  if (commit.unlocks) ties = giveBackLocks(call, { runKey, ties }, commit.unlocks);
  for (const lock of endsRun(commit) ? [] : (commit.locks ?? []))
    ties = insertLock(call, { runKey, ties }, commit.namespace, lock);
  if (commit.clearDeadline) sql.execute("update holdfast_runs set deadline_at = null where run_key = ?", runKey);
  if (commit.attributes) replaceAttributes(call, runKey, commit.attributes);
  if (row.marked && commit.events.length > 0) forgetDeaths(call, runKey);
  const { transition } = commit;
  if (!staysHeld(row, commit)) {
    const deadlineAt = commit.clearDeadline ? null : row.deadlineAt;
    const moved = { runKey, runId: commit.runId, laneId: row.laneId, status: row.status, deadlineAt, ties };
    return written(call, row, false, tasks, move(call, moved, commit, { counts, tail, ends }));
  }
  sql.execute(COUNT_ON, counts.eventCount, counts.consumed, runKey);
  if (transition.type === "hold") keepStatus(call, row, statusCode(transition.status));
  return written(call, row, true, tasks, ties);
}

function keepStatus({ sql }: Call, { runKey, status }: Fence, next: number): void {
  if (next !== status) sql.execute("update holdfast_runs set status = ? where run_key = ?", next, runKey);
}

function endsRun({ transition }: RunCommit): boolean {
  return transition.type === "end" || transition.type === "continue";
}

/**
 * The only event of a commit that ends its run. It is kept with the end, which is written anyway: a row of its own would cost as much again.
 * Answers to updates and tasks refer to events in their table.
 */
function lastEventOf({ transition, events, replies, tasks }: RunCommit): HistoryEvent | undefined {
  if (transition.type !== "end" || events.length !== 1) return undefined;
  return replies === undefined && (tasks?.length ?? 0) === 0 ? events[0] : undefined;
}

/** `ties`: afterward. */
function written(call: Call, row: Fence, held: boolean, tasks: HeldTasks, ties: number | null): CommitOutcome {
  const { delivered, runKey } = row;
  if (tasks === NO_TASKS && ties === null) return { outcome: "written", held, delivered };
  return { outcome: "written", held, delivered, ...tasks, ...owing(ties), ...owedToParent(call, { runKey, ties }) };
}

/** Returns how many there are then. */
function addEvents(call: Call, row: Fence, commit: RunCommit, tail?: HistoryEvent): number {
  const before = commit.eventCount - commit.events.length;
  // Appends have added to what the row knows of. An event with the end is in no index that would find another one of its number.
  const counted = row.counted || !tail;
  let eventCount = before === row.eventCount && counted ? before : lastSeq(call, row.runKey);
  for (const event of commit.events) {
    eventCount += 1;
    // (run, seq) is unique and has no gaps; the fence should have refused any commit that breaks this.
    if (event.seq !== eventCount) {
      throw new HoldfastError(
        "invariant_broken",
        `run ${commit.runId}: event ${event.seq} does not follow ${eventCount - 1}`,
      );
    }
    if (!tail) appendEvent(call, row.runKey, event);
  }
  if (eventCount === commit.eventCount) return eventCount;
  const message = `run ${commit.runId}: it has ${eventCount} events with this commit, not ${commit.eventCount}`;
  throw new HoldfastError("invariant_broken", message);
}

interface Moved extends Pick<StateRow, "runKey" | "laneId" | "status" | "deadlineAt" | "ties"> {
  readonly runId: string;
}

/** How much the commit has written, what it has left to the end, and where ends go. */
interface Written {
  readonly counts: Counts;
  readonly tail: HistoryEvent | undefined;
  readonly ends: PlainEnds;
}

/** Returns its ties afterward. */
function move(call: Call, row: Moved, commit: RunCommit, { counts, tail, ends }: Written): number | null {
  const { transition } = commit;
  switch (transition.type) {
    case "suspend": {
      const { status, availableAt, waitingFor } = transition;
      letGo(call, row, { status, dueAt: availableAt, waitingFor }, counts);
      break;
    }
    case "release":
      letGo(call, row, { status: null, dueAt: call.now }, counts);
      break;
    case "end": {
      const { status, output, error, compensation } = transition;
      const ending = { status, output, error, compensation, lastEventAt: lastAt(call, row, commit, counts) };
      if (row.ties !== null) return endRun(call, row, ending, counts, tail);
      ends.add(row, ending, counts, tail);
      break;
    }
    case "park":
      park(call, row, transition, counts);
      break;
    case "continue":
      return continueAsNew(call, stateByKey(call, row.runKey), commit, transition, counts);
  }
  return row.ties;
}

function continueAsNew(
  call: Call,
  row: StateRow,
  commit: RunCommit,
  { next, carried }: Extract<Transition, { type: "continue" }>,
  counts: Counts,
): number | null {
  const previousKey = newestKey(call, next.namespace, next.id);
  const previous = previousKey === null ? null : stateByKey(call, previousKey);
  const inserted = insertRun(call, next, next.version, previous, { from: row });
  if (!inserted) throw new HoldfastError("invariant_broken", `SQLite store: the run id ${next.runId} is taken`);
  handOn(call, row, counts.consumed, inserted.runKey, carried);
  const ending = { lastEventAt: lastAt(call, row, commit, counts), continuedAs: newUuidBytes(next.runId) };
  return endRun(call, row, { status: "continued", output: null, error: null, ...ending }, counts);
}

/** The time of the last event; it is read only if this commit has no events. */
function lastAt(call: Call, { runKey }: Pick<StateRow, "runKey">, { events }: RunCommit, counts: Counts): number {
  const last = events[events.length - 1];
  if (last) return last.at;
  return counts.eventCount === 0 ? 0 : lastEventAt(call, runKey);
}
