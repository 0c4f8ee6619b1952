import { isDue } from "../../model/decisions/due-time.ts";
import { fitsTask } from "../../model/decisions/task.ts";
import type { ClaimTasksParams, ClaimTasksResult } from "../../ports/store.ts";
import { isLive, type MemoryState } from "../state.ts";
import type { TaskRecord } from "./task-record.ts";
import { holdTask, taskOf, tasksHeldBy } from "./task-state.ts";

type Rest = Pick<ClaimTasksResult, "moreDue" | "nextDueAt" | "suspectDue">;

const NOTHING: Rest = { moreDue: false, nextDueAt: null, suspectDue: false };

export function claimTasks(state: MemoryState, params: ClaimTasksParams, now: number): ClaimTasksResult {
  if (!isLive(state, params)) return { live: false, tasks: [], now, ...NOTHING };
  const already = params.again
    ? tasksHeldBy(state, params.workerId).filter(({ claimId }) => claimId === params.claimId)
    : [];
  if (already.length > 0) return answer(state, already, now, NOTHING);

  const due: TaskRecord[] = [];
  let nextDueAt: number | null = null;
  let suspectDue = false;
  for (const key of state.dueTasks) {
    const task = state.tasks.get(key) as TaskRecord;
    if (task.namespace !== params.namespace || !fitsTask(task, params)) continue;
    const availableAt = task.availableAt as number;
    if (!isDue(availableAt, now)) nextDueAt = Math.min(nextDueAt ?? availableAt, availableAt);
    else if (task.suspect !== params.solo) suspectDue ||= task.suspect;
    else due.push(task);
  }
  due.sort((a, b) => b.priority - a.priority || (a.availableAt as number) - (b.availableAt as number));
  const taken = due.slice(0, params.solo ? Math.min(1, params.limit) : params.limit);
  for (const task of taken) {
    holdTask(state, task, params.workerId, params.claimId, now);
    task.alone = params.solo;
  }
  return answer(state, taken, now, { moreDue: due.length > taken.length, nextDueAt, suspectDue });
}

function answer(state: MemoryState, tasks: readonly TaskRecord[], now: number, rest: Rest): ClaimTasksResult {
  return { live: true, tasks: tasks.map((task) => taskOf(state, task)), now, ...rest };
}
