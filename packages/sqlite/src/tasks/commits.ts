/** What the commit of a run does to its tasks. */
import type { NewTask, RunCommit } from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { newUuidBytes, sharedUuidBytes } from "../database/uuid.ts";
import { deleteResults } from "../inbox.ts";
import type { KnownWorkers, StoredWorker } from "../workers.ts";
import { dropTasks, insertTask, leaveQueue } from "./task-state.ts";

const DELETE = "delete from holdfast_tasks where run_id = ? and seq = ? returning held_by, place";
const LIMITED_LANE = "select limited_id from holdfast_task_lanes where lane_id = ?";
/** Epoch 1: nothing has happened to it since. */
const HELD_SINCE = `
  select 1 from holdfast_tasks where run_id = ? and seq = ? and held_by = ? and claim_id = ? and epoch = 1`;

export interface HeldTasks {
  readonly tasksHeld?: readonly number[];
}

export const NO_TASKS: HeldTasks = {};
const NONE: readonly never[] = [];

/** Returns which tasks are held since this commit. Runs without tasks pay for nothing here. */
export function changeTasks(call: Call, runKey: number, commit: RunCommit, workers: KnownWorkers): HeldTasks {
  const { tasks = NONE, settled = NONE, dropTasks: drop, results = NONE } = commit;
  if (drop) dropTasks(call, newUuidBytes(commit.runId), workers.find(commit.workerId)?.workerKey);
  for (const seq of settled) settle(call, commit, seq, workers);
  if (results.length > 0) deleteResults(call, runKey, results);
  return tasks.length > 0 ? insertTasks(call, commit, tasks, workers) : NO_TASKS;
}

function insertTasks(call: Call, commit: RunCommit, tasks: readonly NewTask[], workers: KnownWorkers): HeldTasks {
  let asked = false;
  const tasksHeld: number[] = [];
  for (const task of tasks) {
    const wanted = task.holdBy && workers.live(commit.namespace, task.holdBy.workerId);
    const holder = wanted && !isLimited(call, wanted, commit.namespace, task) ? wanted : undefined;
    insertTask(call, commit, task, holder?.workerKey ?? null);
    asked ||= task.holdBy !== null;
    if (holder && !task.external) tasksHeld.push(task.seq);
  }
  return asked ? { tasksHeld } : NO_TASKS;
}

/** Tasks of a queue with limits are held when they get a place. If there are no limits at all, this costs nothing. */
function isLimited({ sql, catalog }: Call, { someLimits }: StoredWorker, namespace: string, task: NewTask): boolean {
  return someLimits === 1 && sql.columns(LIMITED_LANE, catalog.taskLaneId(namespace, task))?.[0] !== null;
}

/** The same for a commit that has already been written. */
export function tasksHeldSince({ sql }: Call, commit: RunCommit, workers: KnownWorkers): HeldTasks {
  const asked = commit.tasks?.filter(({ holdBy }) => holdBy !== null) ?? [];
  if (asked.length === 0) return NO_TASKS;
  const held = asked.filter(({ seq, holdBy }) => {
    const holder = holdBy && workers.find(holdBy.workerId);
    if (!holder) return false;
    const claimId = newUuidBytes(holdBy.claimId);
    return sql.columns(HELD_SINCE, sharedUuidBytes(commit.runId), seq, holder.workerKey, claimId) !== undefined;
  });
  return { tasksHeld: held.map(({ seq }) => seq) };
}

/** The result is in the history now, or nobody wants it any more: the row goes, whatever has become of it. */
function settle(call: Call, { runId, workerId }: RunCommit, seq: number, workers: KnownWorkers): void {
  const { sql, hints, catalog } = call;
  const [heldBy, place = null] = sql.columns(DELETE, sharedUuidBytes(runId), seq) ?? [];
  if (place !== null) leaveQueue(call, { runId: newUuidBytes(runId), seq, place: place as number });
  if (typeof heldBy !== "number" || heldBy === workers.find(workerId)?.workerKey) return;
  hints.push({ type: "task", runId: runId.toLowerCase(), seq, workerId: catalog.workerId(heldBy) });
}
