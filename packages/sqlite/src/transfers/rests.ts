/** What a run has besides its row, its history and its messages. */
import {
  type ErrorRecord,
  type MessageKind,
  outOfLine,
  type Payload,
  type RunRest,
  type TaskFailure,
  type TaskImage,
  type TransferRef,
} from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { expiryName, isClosedCode, statusName, taskStatusName } from "../database/codes.ts";
import { type StateRow, stateOf } from "../runs/run-state.ts";
import { IN_LINE, TASK_STATE, type TaskState } from "../tasks/task-state.ts";

const MORE = `
  select r.waiting_for as waitingFor, r.parked_by as parkedBy, e.error
  from holdfast_runs r left join holdfast_run_ends e on e.run_key = r.run_key where r.run_key = ?`;
const KNOWN_IDS = `
  select message_id as messageId, kind from holdfast_inbox m
  where chain_key = ? and run_key <> ?
    and not exists (select 1 from holdfast_inbox own where own.chain_key = m.chain_key and own.message_id = m.message_id and own.run_key = ?)
  group by message_id order by message_id`;
const UPDATES = `
  select number, answer_seq as seq, answer_error as error from holdfast_updates
  where run_key = ? and (answer_seq is not null or answer_error is not null) order by number`;
const TASKS = `
  select ${TASK_STATE}, t.input_seq as inputSeq, t.details, t.key from holdfast_tasks t where t.run_id = ? order by t.seq`;

interface More {
  readonly waitingFor: string | null;
  readonly parkedBy: string | null;
  readonly error: string | null;
}

interface StoredAnswer {
  readonly number: number;
  readonly seq: number | null;
  readonly error: string | null;
}

export interface StoredTaskImage extends TaskState {
  readonly inputSeq: number;
  readonly details: Payload | null;
  readonly key: string | null;
}

export function readRests(call: Call, { runs }: { readonly runs: readonly TransferRef[] }): (RunRest | null)[] {
  return runs.map(({ namespace, runId }) => {
    const row = stateOf(call, namespace, runId);
    return row ? restOf(call, row, tasksOf(call, row)) : null;
  });
}

export function tasksOf({ sql }: Call, { runId }: Pick<StateRow, "runId">): StoredTaskImage[] {
  return sql.all<StoredTaskImage>(TASKS, runId);
}

export function restOf(call: Call, row: StateRow, tasks: readonly StoredTaskImage[]): RunRest {
  const { sql, now } = call;
  const { runKey, chainKey, availableAt } = row;
  const closed = isClosedCode(row.status);
  const { waitingFor, parkedBy, error } = sql.get<More>(MORE, runKey) as More;
  const rest: RunRest = {
    status: statusName(row.status),
    availableAt,
    waitingFor: waitingFor === null ? [] : (JSON.parse(waitingFor) as string[]),
    error: errorOf(error),
    parkedBy,
    knownIds: closed ? [] : sql.all<{ messageId: string; kind: MessageKind }>(KNOWN_IDS, chainKey, runKey, runKey),
    updates: sql.all<StoredAnswer>(UPDATES, runKey).map((answer) => ({ ...answer, error: errorOf(answer.error) })),
    tasks: closed ? [] : tasks.map((task) => imageOf(call, task)),
  };
  return outOfLine(rest, now);
}

function errorOf(text: string | null): ErrorRecord | null {
  return text === null ? null : (JSON.parse(text) as ErrorRecord);
}

function imageOf({ catalog, now }: Call, task: StoredTaskImage): TaskImage {
  const { name, queue, requires, priority } = catalog.taskLane(task.laneId);
  const { seq, inputSeq, op, epoch, secret, attempt, expiresAt, deaths, aloneDeaths, createdAt, details } = task;
  const { timeoutMs, startTimeoutMs, totalTimeoutMs, heartbeatMs, beganAt, finishId, key, failures } = task;
  return {
    ...{ seq, inputSeq, op, name, queue, requires, priority, epoch, secret, attempt, expiresAt },
    ...{ deaths, aloneDeaths, createdAt, details, beganAt, finishId, key },
    ...{ timeoutMs, startTimeoutMs, totalTimeoutMs, heartbeatMs },
    status: taskStatusName(task.status) as TaskImage["status"],
    availableAt: task.place === IN_LINE ? now : task.availableAt,
    expires: expiryName(task.expires),
    canceled: task.canceled === 1,
    suspect: task.suspect === 1,
    failOnCrash: task.failOnCrash === 1,
    external: task.external === 1,
    failures: failures === null ? [] : (JSON.parse(failures) as TaskFailure[]),
  };
}
