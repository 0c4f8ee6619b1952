import { type ClaimTasksParams, type ClaimTasksResult, earlier, limitedFirst, type Task } from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import type { TaskLane } from "../database/catalog.ts";
import { newUuidBytes } from "../database/uuid.ts";
import { byPriority } from "../runs/claims.ts";
import { byLimits } from "../runs/limited-claims.ts";
import { liveWorkerKey } from "../workers.ts";
import { takeLimited } from "./limited-claims.ts";
import { type Place, readTask, type StoredTask, storedTask, toTask } from "./task-rows.ts";
import { hold, PLACED, saveTask } from "./task-state.ts";

const DUE = `
  select run_id, seq, available_at from holdfast_tasks
  where lane_id = ? and suspect = ? and available_at <= ? order by available_at limit ?`;
const NEXT_DUE = `
  select min(available_at) from holdfast_tasks where lane_id = ? and suspect = ? and available_at > ?`;
const TAKEN_UNDER = "select run_id, seq from holdfast_tasks where held_by = ? and claim_id = ?";

type DueTask = readonly [...place: Place, availableAt: number];

type Rest = Pick<ClaimTasksResult, "moreDue" | "nextDueAt" | "suspectDue">;

const NOTHING: Rest = { moreDue: false, nextDueAt: null, suspectDue: false };

export function claimTasks(call: Call, params: ClaimTasksParams): ClaimTasksResult {
  const { sql, now } = call;
  const workerKey = liveWorkerKey(call, params);
  if (workerKey === undefined) return { live: false, tasks: [], now, ...NOTHING };
  const holder = { workerKey, claimId: newUuidBytes(params.claimId) };
  if (params.again) {
    const taken = sql.allColumns(TAKEN_UNDER, workerKey, holder.claimId) as Place[];
    if (taken.length > 0) return { live: true, tasks: taken.map((place) => readTask(call, place)), now, ...NOTHING };
  }
  const lanes = lanesOf(call, params);
  const { taken, placed, moreDue, nextAt } = findDue(call, params, lanes);
  const suspectDue = !params.solo && lanes.some(({ laneId }) => sql.columns(DUE, laneId, 1, now, 1) !== undefined);
  const nextDueAt = earlier(nextDue(call, lanes), nextAt);
  const tasks = taken.map(([runId, seq], i): Task => {
    const stored = storedTask(call, [runId, seq]) as StoredTask;
    hold(stored.state, holder, now);
    stored.state.alone = Number(params.solo);
    if (placed.has(i)) stored.state.place = PLACED;
    saveTask(call, stored.state);
    return toTask(call, stored);
  });
  return { live: true, tasks, now, moreDue, nextDueAt, suspectDue };
}

/** Those whose tasks the worker can do; higher priorities first. */
function lanesOf({ catalog }: Call, { namespace, names, queues, labels }: ClaimTasksParams): TaskLane[] {
  const served = { names: new Set(names), queues: new Set(queues), labels: new Set(labels) };
  return catalog
    .taskLanesOf(namespace)
    .filter(
      ({ name, queue, requires }) =>
        served.names.has(name) && served.queues.has(queue) && requires.every((label) => served.labels.has(label)),
    );
}

const NONE_PLACED: ReadonlySet<number> = new Set();

/** `placed`: the positions of those that have got a place in a queue with limits. */
function findDue(call: Call, params: ClaimTasksParams, lanes: readonly TaskLane[]) {
  const limit = params.solo ? Math.min(1, params.limit) : params.limit;
  const { plain, limited } = byLimits(lanes, params);
  if (limited.length === 0)
    return { ...findPlain(call, params, plain, limit), placed: NONE_PLACED, nextAt: null as number | null };
  const taken: Place[] = [];
  const placed = new Set<number>();
  let moreDue = false;
  let nextAt: number | null = null;
  const takePlain = (): void => {
    const found = findPlain(call, params, plain, limit - taken.length);
    for (const [runId, seq] of found.taken) taken.push([runId, seq]);
    moreDue ||= found.moreDue;
  };
  const first = limitedFirst(params.claimId);
  if (!first) takePlain();
  for (const [limitedId, served] of limited) {
    const found = takeLimited(call, limitedId, served, limit - taken.length);
    moreDue ||= found.moreDue;
    nextAt = earlier(nextAt, found.nextAt);
    for (const { runId, seq } of found.taken) placed.add(taken.push([runId, seq]) - 1);
  }
  if (first) takePlain();
  return { taken, placed, moreDue, nextAt };
}

function findPlain({ sql, now }: Call, params: ClaimTasksParams, lanes: readonly TaskLane[], limit: number) {
  const taken: DueTask[] = [];
  let moreDue = false;
  for (const group of byPriority(lanes)) {
    const room = limit - taken.length;
    // One more than there is room for, to know whether more are left.
    const due = group.flatMap(
      ({ laneId }) => sql.allColumns(DUE, laneId, Number(params.solo), now, room + 1) as DueTask[],
    );
    due.sort(([, aSeq, aAt], [, bSeq, bAt]) => aAt - bAt || aSeq - bSeq);
    taken.push(...due.slice(0, room));
    moreDue = due.length > room;
    if (moreDue) break;
  }
  return { taken, moreDue };
}

function nextDue({ sql, now }: Call, lanes: readonly TaskLane[]): number | null {
  let next: number | null = null;
  for (const { laneId } of lanes) {
    for (const suspect of [0, 1]) {
      const [at] = sql.columns(NEXT_DUE, laneId, suspect, now) ?? [];
      if (typeof at === "number") next = Math.min(next ?? at, at);
    }
  }
  return next;
}
