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

export function listTasks(call: Call, params: ListTasksParams): Task[] {
  const { namespace, name, queue, limit } = params;
  const lanes = call.catalog
    .taskLanesOf(namespace)
    .filter((lane) => (name === undefined || lane.name === name) && (queue === undefined || lane.queue === queue));
  const places = lanes.length === 0 ? [] : placesOf(call, params, lanes);
  return places.slice(0, limit).map((place) => readTask(call, place));
}

/**
 * External tasks and dead letters: one walk along their index for each lane, merged. Held ones: all of them, sorted; there are
 * no more than the workers have room for. All others: one walk along the table, which holds only unfinished tasks and stops at
 * the limit. An index for that would be one more to write for every task.
 */
function placesOf(call: Call, params: ListTasksParams, lanes: readonly TaskLane[]): Place[] {
  const { status, runId } = params;
  const among: Condition = [
    "t.lane_id in (select value from json_each(?))",
    JSON.stringify(lanes.map(({ laneId }) => laneId)),
  ];
  const ofStatus: Condition[] = status === undefined ? [] : [["t.status = ?", taskStatusCode(status)]];
  if (runId !== undefined) return walk(call, params, null, [["t.run_id = ?", uuidBytes(runId)], among, ...ofStatus]);
  switch (status) {
    case "external":
    case "dead":
      return lanes
        .flatMap(({ laneId }) =>
          // The first condition is that of the index.
          walk(call, params, "holdfast_tasks_kept", [["t.status >= 3"], ["t.lane_id = ?", laneId], ...ofStatus]),
        )
        .sort(inOrder);
    case "held":
      return walk(call, params, "holdfast_tasks_held", [["t.held_by > 0"], among]);
    default:
      return walk(call, params, null, [among, ...ofStatus]);
  }
}

type Condition = readonly [sql: string, ...values: SqlValue[]];

function walk(
  { sql }: Call,
  { after, limit }: ListTasksParams,
  index: string | null,
  conditions: readonly Condition[],
): Place[] {
  const source = index === null ? "holdfast_tasks t" : `holdfast_tasks t indexed by ${index}`;
  const where = conditions.map(([text]) => text).join(" and ");
  const start = after ? [uuidBytes(after.runId), after.seq] : [blob(new Uint8Array(0)), 0];
  return sql.allColumns(
    `select t.run_id, t.seq from ${source} where ${where} and (t.run_id, t.seq) > (?, ?) order by t.run_id, t.seq limit ?`,
    ...conditions.flatMap(([, ...values]) => values),
    ...start,
    limit,
  ) as Place[];
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
