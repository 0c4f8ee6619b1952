import { expiryWhenCanceled, expiryWhenHeld, isExpired } from "../../model/decisions/task.ts";
import type {
  BeatTasksParams,
  BeatTasksResult,
  CancelTasksParams,
  CancelTasksResult,
  ExpiredTasksResult,
  TaskBeat,
} from "../../ports/store.ts";
import { leaveLine } from "../queues/place-state.ts";
import type { MemoryState } from "../state.ts";
import type { TaskRecord } from "./task-record.ts";
import { hintHolder, setExpiry, taskIn, taskKey, taskOf, timesOf } from "./task-state.ts";

export function beatTasks(state: MemoryState, params: BeatTasksParams, now: number): BeatTasksResult {
  return { outcomes: params.beats.map((beat) => beatTask(state, beat, now)), now };
}

function beatTask(state: MemoryState, beat: TaskBeat, now: number): BeatTasksResult["outcomes"][number] {
  const task = taskIn(state, beat.namespace, beat);
  if (!task || !isCurrent(task, beat)) return { outcome: "lost", canceled: !task };
  if (beat.details !== null) {
    task.details = beat.details;
    task.deaths = 0;
    task.aloneDeaths = 0;
    task.alone = false;
    task.suspect = false;
  }
  if (!task.canceled) setExpiry(task, expiryWhenHeld(timesOf(task), task.beganAt as number, now));
  return { outcome: "heard", canceled: task.canceled };
}

function isCurrent(task: TaskRecord, { epoch, by }: TaskBeat): boolean {
  if (task.epoch !== epoch || (task.status !== "held" && task.status !== "external")) return false;
  return by.type === "holder" ? task.heldBy === by.workerId : task.secret === by.secret;
}

export function cancelTasks(state: MemoryState, params: CancelTasksParams, now: number): CancelTasksResult {
  return { outcomes: params.tasks.map((key) => ({ outcome: cancelTask(state, params.namespace, key, now) })) };
}

function cancelTask(
  state: MemoryState,
  namespace: string,
  key: { readonly runId: string; readonly seq: number },
  now: number,
): CancelTasksResult["outcomes"][number]["outcome"] {
  const task = taskIn(state, namespace, key);
  if (!task || task.status === "dead") return "gone";
  if (!task.canceled) setExpiry(task, expiryWhenCanceled(now));
  task.canceled = true;
  if (task.status === "held") {
    hintHolder(state, task);
    return "waiting";
  }
  task.availableAt = null;
  leaveLine(state, task);
  task.inLine = false;
  state.dueTasks.delete(taskKey(task));
  return task.beganAt === null ? "never_began" : "stopped";
}

export function expiredTasks(
  state: MemoryState,
  { limit }: { readonly limit: number },
  now: number,
): ExpiredTasksResult {
  const limited = [...state.tasks.values()].filter(({ expiresAt }) => expiresAt !== null);
  limited.sort((a, b) => (a.expiresAt as number) - (b.expiresAt as number));
  const tasks = limited.filter((task) => isExpired(task, now)).slice(0, limit);
  const next = limited.find((task) => !isExpired(task, now));
  return { tasks: tasks.map((task) => taskOf(state, task)), now, nextExpiryAt: next?.expiresAt ?? null };
}
