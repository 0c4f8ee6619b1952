import { type Backlog, type BacklogParams, gatherBacklog } from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { statusCode } from "../database/codes.ts";

const RUN_LANES = "select lane_id as laneId, queue, workflow, version from holdfast_lanes where namespace = ?";
const TASK_LANES = "select lane_id as laneId, queue, name, requires from holdfast_task_lanes where namespace = ?";
const SLEEPS = `status = ${statusCode("sleeping")}`;
/** What is in line for a place is left out. */
const DUE_RUNS = `
  select count(*) as waiting, min(available_at) as oldestDueAt, total(${SLEEPS} and available_at <= ?) as late,
    min(iif(${SLEEPS}, available_at, null)) as timerDueAt
  from (select available_at, status from holdfast_runs
        where lane_id = ? and suspect = ? and available_at <= ? and (waiting_for is null or waiting_for not like '["queue:%#05"]')
        order by available_at limit ?)`;
const DUE_TASKS = `
  select count(*) as waiting, min(available_at) as oldestDueAt, 0 as late, null as timerDueAt
  from (select available_at from holdfast_tasks where lane_id = ? and suspect = ? and available_at <= ? order by available_at limit ?)`;

interface Counted {
  readonly waiting: number;
  readonly oldestDueAt: number;
  readonly late: number;
  readonly timerDueAt: number | null;
}

interface RunLane {
  readonly laneId: number;
  readonly queue: string;
  readonly workflow: string;
  readonly version: string;
}

interface TaskLane {
  readonly laneId: number;
  readonly queue: string;
  readonly name: string;
  readonly requires: string;
}

export function readBacklog({ sql, now }: Call, { namespace, atMost, lateMs }: BacklogParams): Backlog {
  const runs = sql.all<RunLane>(RUN_LANES, namespace).flatMap(({ laneId, ...kind }) =>
    [0, 1].map((suspect) => {
      const counted = sql.get<Counted>(DUE_RUNS, now - lateMs, laneId, suspect, now, atMost) as Counted;
      return { ...kind, ...counted, suspects: suspect * counted.waiting };
    }),
  );
  const tasks = sql.all<TaskLane>(TASK_LANES, namespace).flatMap(({ laneId, requires, ...kind }) =>
    [0, 1].map((suspect) => {
      const counted = sql.get<Counted>(DUE_TASKS, laneId, suspect, now, atMost) as Counted;
      return { ...kind, requires: JSON.parse(requires) as string[], ...counted, suspects: suspect * counted.waiting };
    }),
  );
  return gatherBacklog(now, atMost, runs, tasks);
}
