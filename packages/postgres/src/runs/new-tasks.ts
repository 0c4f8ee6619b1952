import type { NewTask } from "holdfast/adapter";
import * as binary from "../database/binary-array.ts";
import { arrayLiteral } from "../database/codes.ts";

/** Something that belongs to a run, with the position of the run, from 1. */
export interface Placed<T> {
  readonly i: number;
  readonly item: T;
}

export function positions(items: readonly Placed<unknown>[]): Buffer {
  return binary.int4Array(items, ({ i }) => i);
}

interface NewTasks {
  readonly tasks: readonly Placed<NewTask>[];
}

/** The tasks that a flush creates. What few of them have is left out where none has it. */
export const NEW_TASKS = {
  t_i: ({ tasks }: NewTasks) => positions(tasks),
  t_seq: ({ tasks }: NewTasks) => binary.int4Array(tasks, ({ item: task }) => task.seq),
  t_input_seq: ({ tasks }: NewTasks) => binary.int4Array(tasks, ({ item: task }) => task.inputSeq),
  t_op: ({ tasks }: NewTasks) => binary.textArray(tasks, ({ item: task }) => task.op),
  t_name: ({ tasks }: NewTasks) => binary.textArray(tasks, ({ item: task }) => task.name),
  t_queue: ({ tasks }: NewTasks) => binary.textArray(tasks, ({ item: task }) => task.queue),
  t_requires: ({ tasks }: NewTasks) => binary.textArray(tasks.map(({ item: { requires } }) => arrayLiteral(requires))),
  t_priority: ({ tasks }: NewTasks) => binary.int4Array(tasks, ({ item: task }) => task.priority),
  t_external: ({ tasks }: NewTasks) => binary.boolArray(tasks, ({ item: task }) => task.external),
  t_fail_on_crash: ({ tasks }: NewTasks) => binary.boolArray(tasks, ({ item: task }) => task.failOnCrash),
  t_secret: ({ tasks }: NewTasks) => binary.secretArray(tasks, ({ item: task }) => task.secret),
  t_timeout: ({ tasks }: NewTasks) => binary.sparse(binary.timeArray, tasks, ({ item: task }) => task.timeoutMs),
  t_start_timeout: ({ tasks }: NewTasks) =>
    binary.sparse(binary.timeArray, tasks, ({ item: task }) => task.startTimeoutMs),
  t_total_timeout: ({ tasks }: NewTasks) =>
    binary.sparse(binary.timeArray, tasks, ({ item: task }) => task.totalTimeoutMs),
  t_heartbeat: ({ tasks }: NewTasks) => binary.sparse(binary.timeArray, tasks, ({ item: task }) => task.heartbeatMs),
  t_hold_by: ({ tasks }: NewTasks) =>
    binary.sparse(binary.uuidArray, tasks, ({ item: { holdBy } }) => holdBy?.workerId ?? null),
  t_claim: ({ tasks }: NewTasks) =>
    binary.sparse(binary.uuidArray, tasks, ({ item: { holdBy } }) => holdBy?.claimId ?? null),
  t_key: ({ tasks }: NewTasks) => binary.sparse(binary.textArray, tasks, ({ item: task }) => task.key ?? null),
};

/** For each run that asked for tasks to be held, by its position: which of them are. `held`: positions of tasks. */
export function heldTasks(tasks: readonly Placed<NewTask>[], held: readonly number[]): Map<number, number[]> {
  const byRun = new Map<number, number[]>();
  for (const { i, item } of tasks) if (item.holdBy !== null && !byRun.has(i)) byRun.set(i, []);
  for (const k of [...held].sort((a, b) => a - b)) {
    const { i, item } = tasks[k - 1] as Placed<NewTask>;
    byRun.get(i)?.push(item.seq);
  }
  return byRun;
}
