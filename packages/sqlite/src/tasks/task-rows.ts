import type { EventMeta, Payload, Task, TaskFailure } from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { expiryName, taskStatusName } from "../database/codes.ts";
import { uuidText, uuidTextOrNull } from "../database/uuid.ts";
import { TASK_STATE, type TaskState } from "./task-state.ts";

/** With the input and options from the history of its run. */
const STORED = `
  select ${TASK_STATE}, t.input_seq as inputSeq, t.details, e.payload as input, e.meta
  from holdfast_tasks t join holdfast_runs r on r.run_id = t.run_id
  left join holdfast_events e on e.run_key = r.run_key and e.seq = t.input_seq
  where t.run_id = ? and t.seq = ?`;

export interface StoredTask extends TaskState {
  readonly inputSeq: number;
  readonly details: Payload | null;
  readonly input: Payload | null;
  readonly meta: string | null;
}

/** Where a task is, in the order of lists. */
export type Place = readonly [runId: Uint8Array, seq: number];

export function storedTask({ sql }: Call, [runId, seq]: Place): StoredTask | undefined {
  return sql.get<StoredTask>(STORED, runId, seq);
}

/** The task must exist. */
export function readTask(call: Call, place: Place): Task {
  return toTask(call, storedTask(call, place) as StoredTask);
}

export function toTask({ catalog }: Call, stored: StoredTask): Task {
  const { namespace, name, queue, requires, priority } = catalog.taskLane(stored.laneId);
  const { seq, inputSeq, op, epoch, secret, attempt, availableAt, expiresAt, deaths, aloneDeaths, createdAt } = stored;
  return {
    namespace,
    runId: uuidText(stored.runId),
    seq,
    inputSeq,
    op,
    name,
    queue,
    requires,
    priority,
    status: taskStatusName(stored.status),
    epoch,
    secret,
    attempt,
    heldBy: stored.heldBy === null ? null : catalog.workerId(stored.heldBy),
    claimId: uuidTextOrNull(stored.claimId),
    availableAt,
    expiresAt,
    expires: expiryName(stored.expires),
    canceled: stored.canceled === 1,
    deaths,
    aloneDeaths,
    alone: stored.alone === 1,
    suspect: stored.suspect === 1,
    failOnCrash: stored.failOnCrash === 1,
    createdAt,
    details: stored.details,
    failures: stored.failures === null ? [] : (JSON.parse(stored.failures) as TaskFailure[]),
    input: stored.input,
    spec: (stored.meta === null ? undefined : (JSON.parse(stored.meta) as EventMeta).task) ?? null,
  };
}
