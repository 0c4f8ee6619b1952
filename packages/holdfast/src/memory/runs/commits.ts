import { HoldfastError } from "../../errors/holdfast-error.ts";
import {
  isSameEvent,
  judgeAppend,
  judgeCommit,
  keepsHolding,
  staysHeld,
  storeCounts,
} from "../../model/decisions/commit.ts";
import type { HistoryEvent } from "../../model/event.ts";
import type { CommitOutcome, CommitRunsParams, CommitRunsResult, RunCommit } from "../../ports/store.ts";
import { giveUpChildren, owedToParent, owing } from "../debts/debt-state.ts";
import { appendMessage, deleteResults, handOn, unconsumed } from "../inbox.ts";
import { giveBackLocks, insertLock } from "../locks/lock-state.ts";
import { keepReplies } from "../replies.ts";
import { addTo, insertRun, letGo, type MemoryState, type RunRecord, runIn, setAvailable } from "../state.ts";
import { dropTasks, insertTask, removeTask, taskIn } from "../tasks/task-state.ts";
import { endRun } from "./ends.ts";
import { park } from "./parking.ts";

export function commitRuns(state: MemoryState, params: CommitRunsParams, now: number): CommitRunsResult {
  const outcomes = params.commits.map((commit) => commitRun(state, commit, now));
  const messages = params.commits.flatMap(({ runId, transition, consumed }, i) =>
    !keepsHolding(transition) && outcomes[i]?.held ? unconsumed(state, runId, consumed) : [],
  );
  return { outcomes, messages, now };
}

const LOST: CommitOutcome = { outcome: "lost", held: false, delivered: 0 };

function commitRun(state: MemoryState, commit: RunCommit, now: number): CommitOutcome {
  const { workerId } = commit;
  const row = runIn(state, commit.namespace, commit.runId);
  if (commit.transition.type === "append") return appendToRun(state, row, commit);
  const judged = row ? judgeCommit(row, row.heldBy === workerId, commit) : "lost";
  if (!row || judged === "lost") return LOST;
  if (judged === "again") return written(state, row, commit);
  if (judged === "behind") return { outcome: "behind", held: true, delivered: row.delivered };

  appendEvents(state, row, commit);
  changeTasks(state, row, commit, now);
  if (commit.closes) giveUpChildren(state, row, commit.closes, now);
  if (commit.replies && commit.replies.length > 0) keepReplies(state, row, commit.replies, now);
  if (commit.unlocks) giveBackLocks(state, row, now, commit.unlocks);
  for (const lock of endsRun(commit) ? [] : (commit.locks ?? [])) insertLock(state, row, lock);
  row.commit += 1;
  row.consumed = commit.consumed;
  if (commit.clearDeadline) {
    row.deadlineAt = null;
    state.deadlines.delete(row.runId);
  }
  if (commit.attributes) row.attributes = commit.attributes;
  if (commit.events.length > 0) {
    row.deaths = 0;
    row.aloneDeaths = 0;
    row.alone = false;
    row.suspect = false;
    state.parkedBy.delete(row.runId);
  }
  if (commit.transition.type === "hold") row.status = commit.transition.status;
  else if (!staysHeld(row, commit)) move(state, row, commit, now);
  return written(state, row, commit);
}

/** The row stays as it is, but for the number of events. */
function appendToRun(state: MemoryState, row: RunRecord | undefined, commit: RunCommit): CommitOutcome {
  const { epoch, commit: number, events, workerId } = commit;
  const [first, last] = [events[0]?.seq ?? 0, events.at(-1)?.seq ?? 0];
  const sent = { epoch, commit: number, firstSeq: first, lastSeq: last };
  const judged = row ? judgeAppend(row, row.heldBy === workerId, sent) : "lost";
  if (judged === "lost" || !row) return LOST;
  const known = judged === "again" ? (state.events.get(row.runId) ?? []).slice(first - 1, last) : [];
  if (judged === "again" && !events.every((event, i) => isSameEvent(event, known[i] as HistoryEvent)))
    throw new HoldfastError("invariant_broken", `run ${row.runId}: event ${first} is there, but it is another one`);
  if (judged !== "again") appendEvents(state, row, commit);
  return { outcome: "written", held: true, delivered: row.delivered };
}

function written(state: MemoryState, row: RunRecord, commit: RunCommit): CommitOutcome {
  const { namespace, runId, workerId, tasks = [] } = commit;
  const held = row.heldBy === workerId;
  const owed = { ...owing(state, runId), ...owedToParent(state, row) };
  const outcome: CommitOutcome = { outcome: "written", held, delivered: row.delivered, ...owed };
  const asked = tasks.filter(({ holdBy }) => holdBy !== null);
  if (asked.length === 0) return outcome;
  const tasksHeld = asked.filter(({ seq, holdBy }) => {
    const task = taskIn(state, namespace, { runId, seq });
    return task?.heldBy === holdBy?.workerId && task?.claimId === holdBy?.claimId && task?.epoch === 1;
  });
  return { ...outcome, tasksHeld: tasksHeld.map(({ seq }) => seq) };
}

function endsRun({ transition }: RunCommit): boolean {
  return transition.type === "end" || transition.type === "continue";
}

/** What the commit does to the tasks of its run. */
function changeTasks(state: MemoryState, row: RunRecord, commit: RunCommit, now: number): void {
  const { runId, namespace, tasks = [], settled = [], dropTasks: drop = false, results = [] } = commit;
  if (drop) dropTasks(state, runId, commit.workerId);
  for (const seq of settled) {
    const task = taskIn(state, namespace, { runId, seq });
    if (task) removeTask(state, task, commit.workerId);
  }
  for (const task of tasks) insertTask(state, row, task, now);
  if (results.length > 0) deleteResults(state, runId, results);
}

function appendEvents(state: MemoryState, row: RunRecord, commit: RunCommit): void {
  for (const event of commit.events) {
    // (run, seq) is unique and without gaps; the fence should have caught anything that could break this.
    if (event.seq !== row.eventCount + 1) {
      throw new HoldfastError(
        "invariant_broken",
        `run ${row.runId}: event ${event.seq} does not follow ${row.eventCount}`,
      );
    }
    addTo(state.events, row.runId, event);
    row.eventCount += 1;
  }
  if (row.eventCount !== commit.eventCount && !storeCounts(commit)) {
    throw new HoldfastError(
      "invariant_broken",
      `run ${row.runId}: it has ${row.eventCount} events with this commit, not ${commit.eventCount}`,
    );
  }
}

function move(state: MemoryState, row: RunRecord, commit: RunCommit, now: number): void {
  const { transition } = commit;
  switch (transition.type) {
    case "suspend":
      letGo(state, row);
      row.status = transition.status;
      row.waitingFor = transition.waitingFor;
      setAvailable(state, row, transition.availableAt, now);
      break;
    case "release":
      letGo(state, row);
      setAvailable(state, row, now, now);
      break;
    case "end":
      endRun(state, row, transition, now);
      break;
    case "park":
      park(state, row, transition, now);
      break;
    case "continue": {
      const next = insertRun(state, transition.next, now, row);
      for (const message of transition.carried) appendMessage(state, next, message, now);
      handOn(state, row, next, now);
      row.continuedAs = next.runId;
      endRun(state, row, { status: "continued", output: null, error: null }, now);
      break;
    }
  }
}
