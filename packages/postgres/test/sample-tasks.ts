import type {
  ClaimTasksResult,
  FinishTask,
  HistoryEvent,
  NewTask,
  Store,
  TaskHold,
  TaskResult,
} from "holdfast/adapter";
import { firstCommit, HOLD, idOf, LANE } from "./sample-runs.ts";

export const COMPLETED: TaskResult = { type: "completed", payload: new TextEncoder().encode('"sent"') };
export const RETRY: TaskResult = { type: "retry", delayMs: 0, failures: [] };

export function newTask(seq: number, fields: Partial<NewTask> = {}): NewTask {
  const limits = { timeoutMs: null, startTimeoutMs: null, totalTimeoutMs: null, heartbeatMs: null };
  return {
    seq,
    inputSeq: seq,
    op: `mail#${seq}`,
    name: "mail",
    queue: LANE.queue,
    requires: [],
    priority: 0,
    external: false,
    failOnCrash: false,
    secret: seq.toString(16).padStart(32, "0"),
    holdBy: null,
    ...limits,
    ...fields,
  };
}

/** The event that schedules it. */
export function taskEvent({ seq, op, name }: NewTask): HistoryEvent {
  return { seq, type: "task_scheduled", op, at: 1_000, payload: new Uint8Array([48]), meta: { task: { name } } };
}

/** The first commit of these runs schedules these tasks; the runs stay held. */
export async function schedule(store: Store, runs: readonly number[], tasks: readonly NewTask[]): Promise<void> {
  const events = tasks.map(taskEvent);
  const commits = runs.map((n) => firstCommit(n, { events, tasks, transition: HOLD }));
  await store.runs.commit({ commits });
}

export function claimTasks(store: Store, workerId: string, claimId: string, limit = 100): Promise<ClaimTasksResult> {
  const which = { namespace: LANE.namespace, queues: [LANE.queue], names: ["mail"], labels: [] };
  return store.tasks.claim({ workerId, claimId, again: false, ...which, limit, solo: false });
}

export function finishOf(n: number, seq: number, workerId: string, fields: Partial<FinishTask> = {}): FinishTask {
  const key: TaskHold = { runId: idOf(n), seq, epoch: 1 };
  return { namespace: LANE.namespace, ...key, by: { type: "holder", workerId }, result: COMPLETED, ...fields };
}
