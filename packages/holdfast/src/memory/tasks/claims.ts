import { limitedFirst, sortedAtEachEnd, sortedInFirst } from "../../model/decisions/admission.ts";
import { earlier, isDue } from "../../model/decisions/due-time.ts";
import { fitsTask } from "../../model/decisions/task.ts";
import type { ClaimTasksParams, ClaimTasksResult } from "../../ports/store.ts";
import { admitFrom, isTaskInLine, limitedKey, limitedOf, lineUp, noteDue } from "../queues/place-state.ts";
import type { InQueue, LimitedQueue } from "../queues/queue-record.ts";
import { isLive, type MemoryState } from "../state.ts";
import type { TaskRecord } from "./task-record.ts";
import { holdTask, taskKey, taskOf, tasksHeldBy } from "./task-state.ts";

type Rest = Pick<ClaimTasksResult, "moreDue" | "nextDueAt" | "suspectDue">;

const NOTHING: Rest = { moreDue: false, nextDueAt: null, suspectDue: false };

export function claimTasks(state: MemoryState, params: ClaimTasksParams, now: number): ClaimTasksResult {
  if (!isLive(state, params)) return { live: false, tasks: [], now, ...NOTHING };
  const already = params.again
    ? tasksHeldBy(state, params.workerId).filter(({ claimId }) => claimId === params.claimId)
    : [];
  if (already.length > 0) return answer(state, already, now, NOTHING);

  const found = findDue(state, params, now);
  const limit = params.solo ? Math.min(1, params.limit) : params.limit;
  let moreDue = false;
  let { nextDueAt } = found;
  const taken: TaskRecord[] = [];
  const take = (task: TaskRecord): void => {
    holdTask(state, task, params.workerId, params.claimId, now);
    task.alone = params.solo;
    taken.push(task);
  };
  const takePlain = (): void => {
    const room = limit - taken.length;
    found.due.sort((a, b) => b.priority - a.priority || (a.availableAt as number) - (b.availableAt as number));
    moreDue ||= found.due.length > room;
    for (const task of found.due.slice(0, room)) take(task);
  };
  const takeLimited = (limited: LimitedQueue): void => {
    const left = sortIn(state, limited, found.limited.get(limited) ?? [], now);
    const serve = ({ runId, seq }: InQueue): TaskRecord | undefined => {
      const task = state.tasks.get(taskKey({ runId, seq })) as TaskRecord;
      return isTaskInLine(task) && fitsTask(task, params) ? task : undefined;
    };
    const { admitted, nextAt, sortsOn } = admitFrom(state, limited, limit - taken.length, serve, left, now);
    for (const task of admitted) take(task);
    moreDue ||= sortsOn;
    nextDueAt = earlier(nextDueAt, nextAt);
  };
  const limited = params.solo ? [] : limitedQueues(state, params);
  const first = limitedFirst(params.claimId);
  if (first) for (const queue of limited) takeLimited(queue);
  takePlain();
  if (!first) for (const queue of limited) takeLimited(queue);
  return answer(state, taken, now, { moreDue, nextDueAt, suspectDue: found.suspectDue });
}

function findDue(state: MemoryState, params: ClaimTasksParams, now: number) {
  const due: TaskRecord[] = [];
  const limited = new Map<LimitedQueue, TaskRecord[]>();
  let nextDueAt: number | null = null;
  let suspectDue = false;
  for (const key of state.dueTasks) {
    const task = state.tasks.get(key) as TaskRecord;
    if (task.namespace !== params.namespace || !fitsTask(task, params)) continue;
    const availableAt = task.availableAt as number;
    const queue = params.solo ? undefined : limitedOf(state, task);
    if (!isDue(availableAt, now)) nextDueAt = Math.min(nextDueAt ?? availableAt, availableAt);
    else if (task.suspect !== params.solo) suspectDue ||= task.suspect;
    else if (queue) noteDue(limited, queue, task);
    else due.push(task);
  }
  return { due, limited, nextDueAt, suspectDue };
}

/** Queues with limits that the worker serves, by name. */
function limitedQueues(state: MemoryState, { namespace, queues }: ClaimTasksParams): LimitedQueue[] {
  return [...queues].sort().flatMap((queue) => state.limited.get(limitedKey("tasks", namespace, queue)) ?? []);
}

/** What is due goes into line. Returns whether something is left. */
function sortIn(state: MemoryState, limited: LimitedQueue, due: TaskRecord[], now: number): boolean {
  due.sort((a, b) => (a.availableAt as number) - (b.availableAt as number));
  const sorted = sortedInFirst(due, sortedAtEachEnd(limited.limits, limited.state, now));
  for (const task of sorted) {
    lineUp(state, limited, task, task.availableAt as number);
    task.availableAt = null;
    task.inLine = true;
    state.dueTasks.delete(taskKey(task));
  }
  return sorted.length < due.length;
}

function answer(state: MemoryState, tasks: readonly TaskRecord[], now: number, rest: Rest): ClaimTasksResult {
  return { live: true, tasks: tasks.map((task) => taskOf(state, task)), now, ...rest };
}
