import type { EventMeta, Payload, Task, TaskFailure } from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { expiryName, taskStatusName } from "../database/codes.ts";
import type { Columns } from "../database/driver.ts";
import { uuidText, uuidTextOrNull } from "../database/uuid.ts";
import { STATE_WIDTH, TASK_STATE, type TaskState, toState } from "./task-state.ts";

/** With the input and options from the history of its run. */
const STORED = `
  select ${TASK_STATE}, t.input_seq as inputSeq, t.details, e.payload as input, e.meta
  from holdfast_tasks t join holdfast_runs r on r.run_id = t.run_id
  left join holdfast_events e on e.run_key = r.run_key and e.seq = t.input_seq
  where t.run_id = ? and t.seq = ?`;

/** A task as the file has it. */
export interface StoredTask {
  readonly state: TaskState;
  readonly inputSeq: number;
  readonly details: Payload | null;
  readonly input: Payload | null;
  readonly meta: string | null;
}

type FurtherColumns = readonly [inputSeq: number, details: Payload | null, input: Payload | null, meta: string | null];

/** Where a task is, in the order of lists. */
export type Place = readonly [runId: Uint8Array, seq: number];

export function storedTask({ sql }: Call, [runId, seq]: Place): StoredTask | undefined {
  const columns = sql.columns(STORED, runId, seq);
  if (!columns) return undefined;
  const further: Columns = columns.slice(STATE_WIDTH);
  const [inputSeq, details, input, meta] = further as FurtherColumns;
  return { state: toState(columns), inputSeq, details, input, meta };
}

/** The task must exist. */
export function readTask(call: Call, place: Place): Task {
  return toTask(call, storedTask(call, place) as StoredTask);
}

export function toTask({ catalog }: Call, { state, inputSeq, details, input, meta }: StoredTask): Task {
  const { namespace, name, queue, requires, priority } = catalog.taskLane(state.laneId);
  const { seq, op, epoch, secret, attempt, availableAt, expiresAt, deaths, aloneDeaths, createdAt } = state;
  return {
    namespace,
    runId: uuidText(state.runId),
    seq,
    inputSeq,
    op,
    name,
    queue,
    requires,
    priority,
    status: taskStatusName(state.status),
    epoch,
    secret,
    attempt,
    heldBy: state.heldBy === null ? null : catalog.workerId(state.heldBy),
    claimId: uuidTextOrNull(state.claimId),
    availableAt,
    expiresAt,
    expires: expiryName(state.expires),
    canceled: state.canceled === 1,
    deaths,
    aloneDeaths,
    alone: state.alone === 1,
    suspect: state.suspect === 1,
    failOnCrash: state.failOnCrash === 1,
    createdAt,
    details,
    failures: state.failures === null ? [] : (JSON.parse(state.failures) as TaskFailure[]),
    input,
    spec: (meta === null ? undefined : (JSON.parse(meta) as EventMeta).task) ?? null,
  };
}
