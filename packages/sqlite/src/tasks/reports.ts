import {
  type BeatTasksParams,
  type BeatTasksResult,
  type CancelTasksParams,
  type CancelTasksResult,
  type ExpiredTasksResult,
  expiryWhenCanceled,
  expiryWhenHeld,
  type TaskBeat,
  type TaskKey,
} from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { blob } from "../database/driver.ts";
import { type Place, readTask } from "./task-rows.ts";
import {
  DEAD,
  EXTERNAL,
  HELD,
  hintHolder,
  saveTask,
  setExpiry,
  type TaskState,
  taskIn,
  timesOf,
} from "./task-state.ts";

const NOTE_SILENCE_ENDED = "update holdfast_tasks set expires_at = ?, expires = ? where run_id = ? and seq = ?";
const NOTE_DETAILS = `
  update holdfast_tasks set details = ?, deaths = 0, alone_deaths = 0, alone = 0, suspect = 0 where run_id = ? and seq = ?`;
const EXPIRED = "select run_id, seq from holdfast_tasks where expires_at <= ? order by expires_at limit ?";
const NEXT_EXPIRY = "select min(expires_at) from holdfast_tasks where expires_at > ?";

export function beatTasks(call: Call, params: BeatTasksParams): BeatTasksResult {
  return { outcomes: params.beats.map((beat) => beatTask(call, beat)), now: call.now };
}

function beatTask(call: Call, beat: TaskBeat): BeatTasksResult["outcomes"][number] {
  const { sql, now } = call;
  const task = taskIn(call, beat.namespace, beat);
  if (!task || !isCurrent(call, task, beat)) return { outcome: "lost", canceled: !task };
  const { runId, seq } = task;
  if (beat.details !== null) sql.execute(NOTE_DETAILS, blob(beat.details), runId, seq);
  const canceled = task.canceled === 1;
  const before = task.expiresAt;
  if (!canceled) setExpiry(task, expiryWhenHeld(timesOf(task), task.beganAt as number, now));
  // Most tasks have no limit on silence: nothing has changed then.
  if (task.expiresAt !== before) sql.execute(NOTE_SILENCE_ENDED, task.expiresAt, task.expires, runId, seq);
  return { outcome: "heard", canceled };
}

function isCurrent({ catalog }: Call, task: TaskState, { epoch, by }: TaskBeat): boolean {
  if (task.epoch !== epoch || (task.status !== HELD && task.status !== EXTERNAL)) return false;
  if (by.type === "token") return task.secret === by.secret;
  return task.heldBy !== null && catalog.workerId(task.heldBy) === by.workerId;
}

export function cancelTasks(call: Call, params: CancelTasksParams): CancelTasksResult {
  return { outcomes: params.tasks.map((key) => ({ outcome: cancelTask(call, params.namespace, key) })) };
}

function cancelTask(call: Call, namespace: string, key: TaskKey): CancelTasksResult["outcomes"][number]["outcome"] {
  const task = taskIn(call, namespace, key);
  if (!task || task.status === DEAD) return "gone";
  if (task.canceled === 0) {
    task.canceled = 1;
    setExpiry(task, expiryWhenCanceled(call.now));
    if (task.status !== HELD) task.availableAt = null;
    saveTask(call, task);
  }
  if (task.status === HELD) {
    hintHolder(call, task);
    return "waiting";
  }
  return task.beganAt === null ? "never_began" : "stopped";
}

export function expiredTasks(call: Call, { limit }: { readonly limit: number }): ExpiredTasksResult {
  const { sql, now } = call;
  const places = sql.allColumns(EXPIRED, now, limit) as Place[];
  const [next] = sql.columns(NEXT_EXPIRY, now) ?? [];
  const nextExpiryAt = (next as number | null | undefined) ?? null;
  return { tasks: places.map((place) => readTask(call, place)), now, nextExpiryAt };
}
