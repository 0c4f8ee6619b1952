import { type Expiry, expiryWhenDue, expiryWhenHeld } from "../../model/decisions/task.ts";
import type { NewTask, Task, TaskKey } from "../../model/task.ts";
import { giveBackPlace, leaveLine, limitedOf } from "../queues/place-state.ts";
import { isLive, type MemoryState, noteQueue, type RunRecord } from "../state.ts";
import type { TaskRecord } from "./task-record.ts";

export function taskKey({ runId, seq }: TaskKey): string {
  return `${runId}/${seq}`;
}

/** The task of that key, if it is of that namespace. */
export function taskIn(state: MemoryState, namespace: string, key: TaskKey): TaskRecord | undefined {
  const task = state.tasks.get(taskKey(key));
  return task?.namespace === namespace ? task : undefined;
}

export function insertTask(state: MemoryState, run: RunRecord, task: NewTask, now: number): void {
  const { seq, inputSeq, op, name, queue, requires, priority, external, failOnCrash, secret, holdBy } = task;
  const { timeoutMs, startTimeoutMs, totalTimeoutMs, heartbeatMs } = task;
  const record: TaskRecord = {
    namespace: run.namespace,
    runId: run.runId,
    seq,
    inputSeq,
    op,
    name,
    queue,
    requires,
    priority,
    status: "due",
    epoch: 0,
    secret,
    attempt: 1,
    heldBy: null,
    claimId: null,
    availableAt: null,
    expiresAt: null,
    expires: null,
    canceled: false,
    deaths: 0,
    aloneDeaths: 0,
    alone: false,
    suspect: false,
    failOnCrash,
    createdAt: now,
    details: null,
    failures: [],
    external,
    limits: { timeoutMs, startTimeoutMs, totalTimeoutMs, heartbeatMs },
    beganAt: null,
    finishId: null,
    key: task.key,
    inLine: false,
  };
  const key = taskKey(record);
  state.tasks.set(key, record);
  noteQueue(state, record);
  const keys = state.tasksOf.get(run.runId);
  if (keys) keys.add(key);
  else state.tasksOf.set(run.runId, new Set([key]));
  if (external) open(record, now);
  else if (
    holdBy &&
    isLive(state, { namespace: run.namespace, workerId: holdBy.workerId }) &&
    !limitedOf(state, record)
  )
    holdTask(state, record, holdBy.workerId, holdBy.claimId, now);
  else makeDue(state, record, now, now);
}

/** It can be claimed from then on. */
export function makeDue(state: MemoryState, task: TaskRecord, availableAt: number, now: number): void {
  letGo(state, task);
  task.status = "due";
  // Nobody will report on it any more.
  if (task.canceled) return setExpiry(task, { expiresAt: now, expires: "cancel" });
  task.availableAt = availableAt;
  leaveLine(state, task);
  task.inLine = false;
  setExpiry(task, expiryWhenDue(timesOf(task), availableAt));
  state.dueTasks.add(taskKey(task));
  const { namespace, queue } = task;
  state.hints.push({ type: "task_due", namespace, queue, ...(availableAt <= now ? {} : { at: availableAt }) });
}

/** An attempt of an external task begins: nobody holds it, and its limits run. */
export function open(task: TaskRecord, now: number): void {
  task.status = "external";
  task.beganAt = now;
  setExpiry(task, expiryWhenHeld(timesOf(task), now, now));
}

export function holdTask(state: MemoryState, task: TaskRecord, workerId: string, claimId: string, now: number): void {
  task.status = "held";
  task.epoch += 1;
  task.heldBy = workerId;
  task.claimId = claimId;
  task.availableAt = null;
  leaveLine(state, task);
  task.inLine = false;
  task.beganAt = now;
  state.dueTasks.delete(taskKey(task));
  setExpiry(task, expiryWhenHeld(timesOf(task), now, now));
  const keys = state.heldTasks.get(workerId);
  if (keys) keys.add(taskKey(task));
  else state.heldTasks.set(workerId, new Set([taskKey(task)]));
}

/** Nobody holds it any longer. */
export function letGo(state: MemoryState, task: TaskRecord): void {
  if (task.heldBy !== null) state.heldTasks.get(task.heldBy)?.delete(taskKey(task));
  // A suspect keeps its place: it is claimed alone, whenever a worker is empty.
  if (!task.suspect) giveBackPlace(state, task);
  task.heldBy = null;
  task.claimId = null;
  task.alone = false;
}

/** It neither has a place any more nor waits for one. */
export function leaveQueue(state: MemoryState, task: TaskRecord): void {
  leaveLine(state, task);
  giveBackPlace(state, task);
}

export function deleteTask(state: MemoryState, task: TaskRecord): void {
  const key = taskKey(task);
  letGo(state, task);
  leaveQueue(state, task);
  state.dueTasks.delete(key);
  state.tasks.delete(key);
  const keys = state.tasksOf.get(task.runId);
  keys?.delete(key);
  if (keys?.size === 0) state.tasksOf.delete(task.runId);
}

/** Takes a task from whoever holds it, for good. `by`: the worker that does. */
export function removeTask(state: MemoryState, task: TaskRecord, by?: string): void {
  hintHolder(state, task, by);
  deleteTask(state, task);
}

export function hintHolder(state: MemoryState, { heldBy, runId, seq }: TaskRecord, by?: string): void {
  if (heldBy !== null && heldBy !== by) state.hints.push({ type: "task", runId, seq, workerId: heldBy });
}

/** All tasks of a run go, except dead letters. */
export function dropTasks(state: MemoryState, runId: string, by?: string): void {
  for (const task of tasksOfRun(state, runId)) if (task.status !== "dead") removeTask(state, task, by);
}

export function tasksOfRun(state: MemoryState, runId: string): TaskRecord[] {
  return [...(state.tasksOf.get(runId) ?? [])].map((key) => state.tasks.get(key) as TaskRecord);
}

export function tasksHeldBy(state: MemoryState, workerId: string): TaskRecord[] {
  return [...(state.heldTasks.get(workerId) ?? [])].map((key) => state.tasks.get(key) as TaskRecord);
}

export function setExpiry(task: TaskRecord, { expiresAt, expires }: Expiry): void {
  task.expiresAt = expiresAt;
  task.expires = expires;
}

export function timesOf({ limits, createdAt, status }: TaskRecord) {
  return { ...limits, createdAt, external: status === "external" };
}

/** The row as the port sees it, with what its run asked for. */
export function taskOf(state: MemoryState, record: TaskRecord): Task {
  const { external: _1, limits: _2, beganAt: _3, finishId: _4, key: _5, inLine: _6, ...row } = record;
  const event = state.events.get(record.runId)?.[record.inputSeq - 1];
  return { ...row, input: event?.payload ?? null, spec: event?.meta?.task ?? null };
}
