import { isDue, type ListTasksParams, type ReadTasksParams, type Task, type TaskKey } from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import type { TaskLane } from "../database/catalog.ts";
import { taskStatusCode } from "../database/codes.ts";
import { blob, type SqlValue } from "../database/driver.ts";
import { uuidBytes } from "../database/uuid.ts";
import { type Place, readTask, storedTask, toTask } from "./task-rows.ts";
import { taskIn } from "./task-state.ts";

export function readTasks(call: Call, { namespace, tasks }: ReadTasksParams): (Task | null)[] {
  return tasks.map(({ runId, seq }) => {
    const stored = storedTask(call, [uuidBytes(runId), seq]);
    const task = stored && toTask(call, stored);
    return task?.namespace === namespace ? task : null;
  });
}

/** Everything but the first few conditions of a walk. */
const IN_LANES = "t.lane_id in (select value from json_each(?))";
const AFTER = "(t.run_id, t.seq) > (?, ?)";

/**
 * External tasks and dead letters: one walk along their index for each lane, merged. Held ones: all of them, sorted; there are
 * no more than the workers can do. All others: one walk along the table, which holds nothing but unfinished tasks.
 */
export function listTasks(call: Call, params: ListTasksParams): Task[] {
  const { namespace, name, queue, status, runId, limit, after } = params;
  const lanes = call.catalog
    .taskLanesOf(namespace)
    .filter((lane) => (name === undefined || lane.name === name) && (queue === undefined || lane.queue === queue));
  if (lanes.length === 0) return [];
  const start: SqlValue[] = after ? [uuidBytes(after.runId), after.seq] : [blob(new Uint8Array(0)), 0];
  const laneIds = JSON.stringify(lanes.map(({ laneId }) => laneId));
  const walk = (source: string, ...values: SqlValue[]): Place[] =>
    call.sql.allColumns(
      `select t.run_id, t.seq from holdfast_tasks t ${source} and ${AFTER} order by t.run_id, t.seq limit ?`,
      ...values,
      ...start,
      limit,
    ) as Place[];

  let places: Place[];
  const ofStatus = status === undefined ? [] : [taskStatusCode(status)];
  const withStatus = status === undefined ? "" : " and t.status = ?";
  if (runId !== undefined) {
    places = walk(`where t.run_id = ? and ${IN_LANES}${withStatus}`, uuidBytes(runId), laneIds, ...ofStatus);
  } else if (status === "external" || status === "dead") {
    const kept = "indexed by holdfast_tasks_kept where t.status >= 3 and t.lane_id = ? and t.status = ?";
    places = lanes.flatMap(({ laneId }) => walk(kept, laneId, ...ofStatus)).sort(inOrder);
  } else if (status === "held") {
    places = walk(`indexed by holdfast_tasks_held where t.held_by > 0 and ${IN_LANES}`, laneIds);
  } else {
    places = walk(`where ${IN_LANES}${withStatus}`, laneIds, ...ofStatus);
  }
  return places.slice(0, limit).map((place) => readTask(call, place));
}

function inOrder([aRun, aSeq]: Place, [bRun, bSeq]: Place): number {
  return Buffer.compare(aRun, bRun) || aSeq - bSeq;
}

const BEFORE = `
  select count(*) from (
    select 1 from holdfast_tasks where lane_id = ? and suspect in (0, 1) and available_at < ? limit ?)`;

export function taskPosition(
  call: Call,
  params: TaskKey & { readonly namespace: string; readonly atMost: number },
): number | null {
  const { sql, catalog, now } = call;
  const task = taskIn(call, params.namespace, params);
  if (!task || !isDue(task.availableAt, now)) return null;
  const mine = catalog.taskLane(task.laneId);
  let count = 0;
  for (const lane of catalog.taskLanesOf(params.namespace)) {
    if (!isAlike(lane, mine) || lane.priority < mine.priority) continue;
    // Of the same priority those that have been due for longer, of a higher one all that are due.
    const before = lane.priority === mine.priority ? (task.availableAt as number) : now + 1;
    const [found] = sql.columns(BEFORE, lane.laneId, before, params.atMost - count) ?? [];
    count += found as number;
    if (count >= params.atMost) break;
  }
  return count;
}

/** The same but for the priority. */
function isAlike(a: TaskLane, b: TaskLane): boolean {
  return a.queue === b.queue && a.name === b.name && a.requires.join("\n") === b.requires.join("\n");
}
