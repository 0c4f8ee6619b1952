import { HoldfastError, type NewRun, type NewTask } from "holdfast/adapter";
import type { Connection } from "./connection.ts";
import { uuidText } from "./uuid.ts";

/** Everything that a claim filters on; fixed when a run is created. */
export interface Lane {
  readonly laneId: number;
  readonly namespace: string;
  readonly queue: string;
  readonly workflow: string;
  readonly version: string;
  readonly priority: number;
  /** Its queue, if that has limits. As it was when this was read: it may change. */
  readonly limitedId: number | null;
}

/** The same for tasks. */
export interface TaskLane {
  readonly laneId: number;
  readonly namespace: string;
  readonly queue: string;
  readonly name: string;
  readonly requires: readonly string[];
  readonly priority: number;
  readonly limitedId: number | null;
}

const LANE =
  "select lane_id as laneId, namespace, queue, workflow, version, priority, limited_id as limitedId from holdfast_lanes";
const TASK_LANE = `
  select lane_id as laneId, namespace, queue, name, requires, priority, null as limitedId
  from holdfast_task_lanes where lane_id = ?`;
const TASK_LANE_ID = `
  select lane_id from holdfast_task_lanes
  where namespace = ? and queue = ? and name = ? and requires = ? and priority = ?`;
const INSERT_LANE = `
  insert into holdfast_lanes (namespace, queue, workflow, version, priority, limited_id)
  select n.*, (select l.limited_id from holdfast_limited l where l.namespace = n.namespace and l.queue = n.queue and l.kind = 'runs')
  from (select ? as namespace, ? as queue, ? as workflow, ? as version, ? as priority) n`;
const INSERT_TASK_LANE = `
  insert into holdfast_task_lanes (namespace, queue, name, requires, priority, limited_id)
  select n.*, (select l.limited_id from holdfast_limited l where l.namespace = n.namespace and l.queue = n.queue and l.kind = 'tasks')
  from (select ? as namespace, ? as queue, ? as name, ? as requires, ? as priority) n`;
const TASK_LANES_OF = "select lane_id, limited_id from holdfast_task_lanes where namespace = ? order by priority desc";

/**
 * Names, lanes and worker ids by key. Apart from the limits of a lane they are never changed or deleted, so an entry stays valid once it has been read. Only
 * entries that a rolled-back call added must be forgotten.
 */
export class Catalog {
  readonly #sql: Connection;
  readonly #nameKeys = new Map<string, number>();
  readonly #lanes = new Map<number, Lane>();
  readonly #laneIds = new Map<string, number>();
  /** Of the last run that was started: mostly also that of the next one. */
  #lastLane: Omit<Lane, "limitedId"> | undefined;
  readonly #taskLanes = new Map<number, TaskLane>();
  readonly #taskLaneIds = new Map<string, number>();
  readonly #workerIds = new Map<number, string>();

  constructor(sql: Connection) {
    this.#sql = sql;
  }

  forget(): void {
    this.#nameKeys.clear();
    this.#lanes.clear();
    this.#laneIds.clear();
    this.#lastLane = undefined;
    this.#taskLanes.clear();
    this.#taskLaneIds.clear();
    this.#workerIds.clear();
  }

  /** Undefined if no run has this name. */
  findNameKey(name: string): number | undefined {
    const known = this.#nameKeys.get(name);
    if (known !== undefined) return known;
    const row = this.#sql.get<{ key: number }>("select name_key as key from holdfast_names where name = ?", name);
    if (row) this.#nameKeys.set(name, row.key);
    return row?.key;
  }

  nameKey(name: string): number {
    const known = this.findNameKey(name);
    if (known !== undefined) return known;
    const key = this.#sql.insert("insert into holdfast_names (name) values (?)", name);
    this.#nameKeys.set(name, key);
    return key;
  }

  lane(laneId: number): Lane {
    const known = this.#lanes.get(laneId);
    if (known) return known;
    const lane = this.#sql.get<Lane>(`${LANE} where lane_id = ?`, laneId);
    if (!lane) throw new HoldfastError("invariant_broken", `SQLite store: lane ${laneId} is missing`);
    this.#lanes.set(laneId, lane);
    return lane;
  }

  laneId(run: Pick<NewRun, "namespace" | "queue" | "workflow" | "priority">, version: string): number {
    const last = this.#lastLane;
    if (last && isLane(last, run, version)) return last.laneId;
    const laneId = this.#laneIdOf(run, version);
    const { namespace, queue, workflow, priority } = run;
    this.#lastLane = { namespace, queue, workflow, version, priority, laneId };
    return laneId;
  }

  #laneIdOf(run: Pick<NewRun, "namespace" | "queue" | "workflow" | "priority">, version: string): number {
    const { namespace, queue, workflow, priority } = run;
    const text = `${namespace}\n${queue}\n${workflow}\n${version}\n${priority}`;
    const known = this.#laneIds.get(text);
    if (known !== undefined) return known;
    const found = this.#sql.get<Lane>(
      `${LANE} where namespace = ? and queue = ? and workflow = ? and version = ? and priority = ?`,
      ...[namespace, queue, workflow, version, priority],
    );
    const laneId = found?.laneId ?? this.#sql.insert(INSERT_LANE, namespace, queue, workflow, version, priority);
    this.#laneIds.set(text, laneId);
    return laneId;
  }

  taskLane(laneId: number): TaskLane {
    const known = this.#taskLanes.get(laneId);
    if (known) return known;
    const row = this.#sql.get<Omit<TaskLane, "requires"> & { requires: string }>(TASK_LANE, laneId);
    if (!row) throw new HoldfastError("invariant_broken", `SQLite store: task lane ${laneId} is missing`);
    const lane = { ...row, requires: JSON.parse(row.requires) as string[] };
    this.#taskLanes.set(laneId, lane);
    return lane;
  }

  taskLaneId(namespace: string, task: Pick<NewTask, "queue" | "name" | "requires" | "priority">): number {
    const { queue, name, requires, priority } = task;
    const text = `${namespace}\n${queue}\n${name}\n${requires.join("\t")}\n${priority}`;
    const known = this.#taskLaneIds.get(text);
    if (known !== undefined) return known;
    const values = [namespace, queue, name, JSON.stringify(requires), priority];
    const [found] = this.#sql.columns(TASK_LANE_ID, ...values) ?? [];
    const laneId = (found as number | undefined) ?? this.#sql.insert(INSERT_TASK_LANE, ...values);
    this.#taskLaneIds.set(text, laneId);
    return laneId;
  }

  /** Higher priorities first. Read again each time: another process may have added some. */
  taskLanesOf(namespace: string): TaskLane[] {
    return this.#sql.allColumns(TASK_LANES_OF, namespace).map(([laneId, limitedId]) => {
      const lane = this.taskLane(laneId as number);
      return limitedId === null ? lane : { ...lane, limitedId: limitedId as number };
    });
  }

  /** A worker's id, by its key. */
  workerId(workerKey: number): string {
    const known = this.#workerIds.get(workerKey);
    if (known !== undefined) return known;
    const sql = "select worker_id as workerId from holdfast_workers where worker_key = ?";
    const row = this.#sql.get<{ workerId: Uint8Array }>(sql, workerKey);
    if (!row) throw new HoldfastError("invariant_broken", `SQLite store: worker ${workerKey} is missing`);
    const workerId = uuidText(row.workerId);
    this.#workerIds.set(workerKey, workerId);
    return workerId;
  }

  /** Read again each time: another process may have added some. */
  lanesOf(namespace: string): Lane[] {
    return this.#sql.all<Lane>(`${LANE} where namespace = ? order by priority desc`, namespace);
  }
}

function isLane(
  lane: Omit<Lane, "limitedId">,
  { namespace, queue, workflow, priority }: Pick<NewRun, "namespace" | "queue" | "workflow" | "priority">,
  version: string,
): boolean {
  return (
    lane.workflow === workflow &&
    lane.version === version &&
    lane.queue === queue &&
    lane.priority === priority &&
    lane.namespace === namespace
  );
}
