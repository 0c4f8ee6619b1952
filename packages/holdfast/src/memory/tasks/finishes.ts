import { wakes, wakeTime } from "../../model/decisions/delivery.ts";
import { afterTaskHolder, afterTaskProcess, expiryWhenHeld, judgeFinish } from "../../model/decisions/task.ts";
import { taskMessageId } from "../../model/ids.ts";
import type { MessageKind } from "../../model/message.ts";
import type { Payload } from "../../model/payload.ts";
import type { FinishOutcome, FinishTask, FinishTasksParams, FinishTasksResult } from "../../ports/store.ts";
import { appendMessage } from "../inbox.ts";
import { type MemoryState, openRun, runIn, setAvailable } from "../state.ts";
import type { TaskRecord } from "./task-record.ts";
import {
  deleteTask,
  hintHolder,
  leaveQueue,
  letGo,
  makeDue,
  open,
  setExpiry,
  taskIn,
  taskKey,
  timesOf,
} from "./task-state.ts";

export function finishTasks(state: MemoryState, params: FinishTasksParams, now: number): FinishTasksResult {
  return { outcomes: params.finishes.map((finish) => ({ outcome: finishTask(state, finish, now) })), now };
}

function finishTask(state: MemoryState, finish: FinishTask, now: number): FinishOutcome["outcome"] {
  const { by, result } = finish;
  const task = taskIn(state, finish.namespace, finish);
  if (!task) return wasDelivered(state, finish) ? "done" : "lost";
  const judged = judgeFinish(task, finish.epoch, by, now);
  if (judged !== "finish") return judged === "again" ? "done" : "lost";
  const finishId = by.type === "token" ? by.finishId : undefined;
  // Whoever finishes it may be someone else than its holder, who must stop.
  if (by.type !== "holder") hintHolder(state, task);
  switch (result.type) {
    case "completed":
      return deliver(state, task, "task_completed", result.payload, finishId, now, false);
    case "failed":
      task.failures = result.failures;
      return deliver(state, task, "task_failed", result.payload, finishId, now, result.keep);
    case "retry":
      task.failures = result.failures;
      task.attempt += 1;
      returnTask(state, task, now + result.delayMs, now);
      task.finishId = finishId ?? null;
      return "done";
    case "release":
      returnTask(state, task, now + (result.delayMs ?? 0), now);
      return "done";
    case "died":
      task.failures = result.failures;
      returnDead(state, task, afterTaskProcess(task, result, task.failOnCrash), now);
      return "done";
    case "external":
      letGo(state, task);
      task.status = "external";
      // Whoever has the token takes over from the worker: no limit waits for a report of that one any more.
      if (!task.canceled) setExpiry(task, expiryWhenHeld(timesOf(task), task.beganAt ?? now, now));
      return "done";
  }
}

/** Epoch + 1, so that the former holder is fenced off. A task that is external by definition is at once open again. */
export function returnTask(state: MemoryState, task: TaskRecord, availableAt: number, now: number): void {
  task.epoch += 1;
  task.finishId = null;
  if (task.external) open(task, now);
  else makeDue(state, task, availableAt, now);
}

/** The task of an offline worker is due again, or expires at once if that fails it. */
export function takeTaskBack(
  state: MemoryState,
  task: TaskRecord,
  died: boolean,
  limits: { readonly suspectAfter: number; readonly parkAfter: number },
  now: number,
): void {
  returnDead(state, task, afterTaskHolder(task, died, task.failOnCrash, limits), now);
}

/** The same with what follows from it. */
function returnDead(
  state: MemoryState,
  task: TaskRecord,
  { crashed, ...marks }: ReturnType<typeof afterTaskProcess>,
  now: number,
): void {
  Object.assign(task, marks);
  returnTask(state, task, now, now);
  if (!crashed) return;
  task.availableAt = null;
  state.dueTasks.delete(taskKey(task));
  setExpiry(task, { expiresAt: now, expires: "crash" });
}

/** To the very run that scheduled the task. */
function deliver(
  state: MemoryState,
  task: TaskRecord,
  kind: MessageKind,
  payload: Payload,
  finishId: string | undefined,
  now: number,
  keep: boolean,
): "done" | "closed" {
  const run = openRun(state, task.namespace, task.runId);
  if (keep && run) bury(state, task, finishId);
  else deleteTask(state, task);
  if (!run) return "closed";
  const messageId = taskMessageId(task.seq, task.attempt, finishId);
  appendMessage(state, run, { kind, name: task.op, messageId, payload }, now);
  if (run.heldBy !== null) state.hints.push({ type: "inbox", runId: run.runId, workerId: run.heldBy });
  else if (wakes({ parked: run.status === "parked", startedAt: run.startedAt }, kind))
    setAvailable(state, run, wakeTime(run.availableAt, now), now);
  return "done";
}

/** It stays as a dead letter. */
function bury(state: MemoryState, task: TaskRecord, finishId: string | undefined): void {
  letGo(state, task);
  leaveQueue(state, task);
  state.dueTasks.delete(taskKey(task));
  task.status = "dead";
  task.epoch += 1;
  task.finishId = finishId ?? null;
  task.availableAt = null;
  setExpiry(task, { expiresAt: null, expires: null });
}

/** An earlier call with this id has delivered the result, and the run has not consumed it yet. */
function wasDelivered(state: MemoryState, { namespace, runId, seq, by }: FinishTask): boolean {
  if (by.type !== "token" || !runIn(state, namespace, runId)) return false;
  const prefix = taskMessageId(seq, 0).slice(0, -2);
  const isIt = (messageId: string): boolean => messageId.startsWith(prefix) && messageId.endsWith(`\t${by.finishId}`);
  return state.inbox.get(runId)?.some(({ messageId }) => isIt(messageId)) ?? false;
}
