import {
  afterTaskProcess,
  expiryWhenHeld,
  type FinishOutcome,
  type FinishTask,
  type FinishTasksParams,
  type FinishTasksResult,
  judgeFinish,
  type MessageKind,
  type Payload,
  type TaskFailure,
  taskMessageId,
} from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { isClosedCode, taskStatusName } from "../database/codes.ts";
import { accept } from "../inbox.ts";
import { stateOf } from "../runs/run-state.ts";
import {
  deleteTask,
  hintHolder,
  letGo,
  marksOf,
  NO_EXPIRY,
  returnDead,
  returnTask,
  saveTask,
  setExpiry,
  type TaskState,
  taskIn,
  timesOf,
} from "./task-state.ts";

/** Results that the run has not consumed yet; they have no chain. */
const UNREAD_RESULTS = "select message_id from holdfast_inbox where run_key = ? and number > ? and chain_key is null";

export function finishTasks(call: Call, params: FinishTasksParams): FinishTasksResult {
  return { outcomes: params.finishes.map((finish) => ({ outcome: finishTask(call, finish) })), now: call.now };
}

function finishTask(call: Call, finish: FinishTask): FinishOutcome["outcome"] {
  const { by, result } = finish;
  const task = taskIn(call, finish.namespace, finish);
  if (!task) return wasDelivered(call, finish) ? "done" : "lost";
  const judged = judgeFinish(fenceOf(call, task), finish.epoch, by, call.now);
  if (judged !== "finish") return judged === "again" ? "done" : "lost";
  // Whoever finishes it may be someone else than its holder, who must stop.
  if (by.type !== "holder") hintHolder(call, task);
  switch (result.type) {
    case "completed":
      return deliver(call, task, finish, "task_completed", result.payload, false);
    case "failed":
      task.failures = failuresText(result.failures);
      return deliver(call, task, finish, "task_failed", result.payload, result.keep);
    case "retry":
      task.failures = failuresText(result.failures);
      task.attempt += 1;
      // Whole milliseconds, rounded up, so that nothing is due early.
      returnTask(call, task, Math.ceil(call.now + result.delayMs));
      task.finishId = by.type === "token" ? by.finishId : null;
      break;
    case "release":
      returnTask(call, task, Math.ceil(call.now + (result.delayMs ?? 0)));
      break;
    case "died":
      task.failures = failuresText(result.failures);
      returnDead(call, task, afterTaskProcess(marksOf(task), result, task.failOnCrash === 1));
      break;
    case "external":
      letGo(task, "external");
      // Whoever has the token takes over from the worker: no limit waits for a report of that one any more.
      if (task.canceled === 0) setExpiry(task, expiryWhenHeld(timesOf(task), task.beganAt ?? call.now, call.now));
      break;
  }
  saveTask(call, task);
  return "done";
}

function fenceOf({ catalog }: Call, { epoch, status, heldBy, secret, expiresAt, finishId }: TaskState) {
  const holder = heldBy === null ? null : catalog.workerId(heldBy);
  return { epoch, status: taskStatusName(status), heldBy: holder, secret, expiresAt, finishId };
}

function failuresText(failures: readonly TaskFailure[]): string | null {
  return failures.length === 0 ? null : JSON.stringify(failures);
}

/** To the very run that scheduled the task. `keep`: the row stays as a dead letter. */
function deliver(
  call: Call,
  task: TaskState,
  { namespace, runId, by }: FinishTask,
  kind: MessageKind,
  payload: Payload,
  keep: boolean,
): "done" | "closed" {
  const run = stateOf(call, namespace, runId);
  const open = run !== undefined && !isClosedCode(run.status);
  const finishId = by.type === "token" ? by.finishId : undefined;
  if (open && keep) bury(call, task, finishId);
  else deleteTask(call, task);
  if (!open) return "closed";
  const messageId = taskMessageId(task.seq, task.attempt, finishId);
  accept(call, run, { kind, name: task.op, messageId, payload });
  return "done";
}

function bury(call: Call, task: TaskState, finishId: string | undefined): void {
  letGo(task, "dead");
  task.epoch += 1;
  task.finishId = finishId ?? null;
  task.availableAt = null;
  setExpiry(task, NO_EXPIRY);
  saveTask(call, task);
}

/** An earlier call with this id has delivered the result, and the run has not consumed it yet. */
function wasDelivered(call: Call, { namespace, runId, seq, by }: FinishTask): boolean {
  if (by.type !== "token") return false;
  const run = stateOf(call, namespace, runId);
  if (!run) return false;
  // Everything before the attempt, which the call does not know.
  const prefix = taskMessageId(seq, 0).slice(0, -2);
  const unread = call.sql.allColumns(UNREAD_RESULTS, run.runKey, run.consumed) as (readonly [string])[];
  return unread.some(([messageId]) => messageId.startsWith(prefix) && messageId.endsWith(`\t${by.finishId}`));
}
