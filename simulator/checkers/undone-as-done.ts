import type { HistoryEvent } from "../../packages/holdfast/src/model/event.ts";
import type { Checker, CommitRecord, Effect, Found, RunEvidence } from "../evidence.ts";
import { conclude } from "../reference.ts";
import type { Execution, TaskChange } from "../task-evidence.ts";
import { voidEvents } from "../void-events.ts";
import { isChildOp } from "../workload/child.ts";
import type { Program } from "../workload/program.ts";
import { undoableTasks } from "./compensation.ts";

const UNDO = "compensate:";

/**
 * Compares compensations with the effects that really happened: a compensation runs only for a step whose function was
 * called, or when a worker was lost between the record of the start and the call; and every effect of a failed run has
 * a compensation.
 */
export const undoneAsDone: Checker = {
  name: "undone-as-done",
  needs: ["effects", "commits", "programs"],
  async check({ runs, effects = [], commits = [], taskChanges = [], executions = [], programs }) {
    const effectsOf = byRun(effects);
    const commitsOf = byRun(commits);
    const changesOf = byRun(taskChanges);
    const ownExecutions = byRun(executions);
    const found: Found[] = [];
    for (const one of runs) {
      const { runId, workflow, version } = one.run;
      const ownEffects = effectsOf.get(runId) ?? [];
      const taken = takenTasks(changesOf.get(runId) ?? []);
      found.push(...checkUndone(one, ownEffects, commitsOf.get(runId) ?? [], taken));
      const left = [...checkDone(one, ownEffects), ...checkTasks(one, taken, ownExecutions.get(runId) ?? [])];
      const program = programs?.get(`${workflow}@${version}`);
      if (left.length > 0 && !(program && (await hasDealtWithIt(one, program)))) found.push(...left);
    }
    return found;
  },
};

/** Code that catches a timeout and returns, or continues as new, has handled it; the run has timed out all the same. */
async function hasDealtWithIt({ run, history }: RunEvidence, program: Program): Promise<boolean> {
  if (run.status !== "timed_out") return false;
  // It may have ended with code that still had the steps retired from the latest code.
  for (const latest of [true, false])
    if (["completed", "continued"].includes((await conclude(program, run, history, latest)).type)) return true;
  return false;
}

function byRun<T extends { readonly runId: string }>(all: readonly T[]): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const one of all) {
    const group = groups.get(one.runId);
    if (group) group.push(one);
    else groups.set(one.runId, [one]);
  }
  return groups;
}

function checkUndone(
  { run: { runId } }: RunEvidence,
  effects: readonly Effect[],
  commits: readonly CommitRecord[],
  taken: ReadonlySet<string>,
): Found[] {
  const found: Found[] = [];
  const called = new Set(effects.map(({ op }) => op));
  for (const undo of called) {
    const op = undo.slice(UNDO.length);
    // Compensations added by hand have no step, and those of children no function.
    if (!undo.startsWith(UNDO) || op.startsWith("u") || isChildOp(op) || called.has(op) || taken.has(op)) continue;
    if (!changedHands(op, commits))
      found.push({ runId, text: `"${op}" was undone, but its function was never called` });
  }
  return found;
}

function checkDone({ run: { runId, status }, history }: RunEvidence, effects: readonly Effect[]): Found[] {
  if (status !== "failed" && status !== "canceled" && status !== "timed_out") return [];
  const gone = voidEvents(history);
  const began = (op: string): boolean => history.some((event) => isStart(event, op) && !gone.has(event));
  const undone = new Set(history.filter(isEnd).map(({ op }) => op));
  // What was done in a run attempt that was taken back belongs to the next run attempt, which may not reach it.
  return [...new Set(effects.map(({ op }) => op))]
    .filter((op) => op.startsWith("c") && !op.startsWith(UNDO) && began(op) && !undone.has(UNDO + op))
    .map((op) => ({ runId, text: `the run is ${status}, but the effect of "${op}" was not undone` }));
}

/** The tasks that somebody had: a task which a worker has taken counts as begun. */
function takenTasks(changes: readonly TaskChange[]): ReadonlySet<string> {
  return new Set(changes.filter(({ after }) => after?.heldBy || after?.status === "external").map(({ op }) => op));
}

/** Tasks that were taken are undone in a run that failed, and none of them is said never to have begun. */
function checkTasks(
  { run: { runId, status }, history }: RunEvidence,
  taken: ReadonlySet<string>,
  executions: readonly Execution[],
): Found[] {
  const found: Found[] = [];
  const gone = voidEvents(history);
  const undone = new Set(history.filter(isEnd).map(({ op }) => op));
  const stopped = status === "failed" || status === "canceled" || status === "timed_out";
  for (const op of undoableTasks(history)) {
    const counts = history.some((event) => isSchedule(event, op) && !gone.has(event));
    const since = history.findLast((event) => isSchedule(event, op))?.seq ?? 0;
    // Of the last one: a retry of the run may have scheduled it again since an earlier one was given up.
    const end = history.findLast((event) => event.op === op && isTaskEnd(event) && event.seq > since);
    const idle = end?.meta?.neverBegan === true;
    if (idle && executions.some((one) => one.op === op && one.seq === since))
      found.push({ runId, text: `"${op}" was executed, but history says that it never began` });
    if (stopped && counts && !idle && taken.has(op) && !undone.has(UNDO + op))
      found.push({ runId, text: `the run is ${status}, but the effect of task "${op}" was not undone` });
  }
  return found;
}

function isSchedule({ type, op: about }: HistoryEvent, op: string): boolean {
  return (type === "task_scheduled" || type === "op_rescheduled") && about === op;
}

function isTaskEnd({ type }: HistoryEvent): boolean {
  return type === "task_completed" || type === "task_failed";
}

/**
 * Whether another worker, or a new process of the same worker, held the run between the records of the start and the
 * end.
 */
function changedHands(op: string, commits: readonly CommitRecord[]): boolean {
  const taken = commits.filter((commit) => commit.applied);
  const start = taken.findLast(({ events }) => events.some((event) => isStart(event, op)));
  const end = taken.findLast(({ events }) => events.some((event) => event.op === op && isEnd(event)));
  return start !== undefined && end !== undefined && end.epoch > start.epoch;
}

function isStart({ type, op: about }: HistoryEvent, op: string): boolean {
  return type === "step_started" && about === op;
}

function isEnd({ type }: HistoryEvent): boolean {
  return type === "step_completed" || type === "step_failed";
}
