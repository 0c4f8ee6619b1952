/** Reads of tasks. As with runs, this file and not the planner decides which index a list walks. */
import type { ListTasksParams, ReadTasksParams, Task, TaskKey } from "holdfast/adapter";
import { isUuid } from "../database/binary-array.ts";
import type { Statement } from "../database/pool.ts";
import type { Server } from "../database/server.ts";
import { queryOf, readingCallOf } from "../database/server-call.ts";
import { quoteName } from "../database/settings.ts";
import { KEYS, type Keys, taskOf } from "./task-rows.ts";

export const READ_TASKS = queryOf<Keys & { readonly namespace: string }>(
  "read_tasks",
  (at) => `
    select v.*, k.i::int as i
      from unnest($p_run::uuid[], $p_seq::int[]) with ordinality as k(run_id, seq, i)
     cross join lateral (select * from ${at}.task_rows x
                          where x.run_id = k.run_id and x.seq = k.seq and x.namespace = $namespace limit 1) v`,
  { ...KEYS, namespace: ({ namespace }) => namespace },
);

type Place = TaskKey & { readonly namespace: string; readonly atMost: number };

export const TASK_POSITION = readingCallOf<Place>("task_position", {
  p_namespace: ({ namespace }) => namespace,
  p_run: ({ runId }) => (isUuid(runId) ? runId : null),
  p_seq: ({ seq }) => seq,
  p_at_most: ({ atMost }) => atMost,
});

export async function readTasks(server: Server, params: ReadTasksParams): Promise<readonly (Task | null)[]> {
  const found: (Task | null)[] = params.tasks.map(() => null);
  const rows = await server.read(READ_TASKS, { namespace: params.namespace, keys: params.tasks });
  for (const row of rows) found[(row.i as number) - 1] = taskOf(row);
  return found;
}

export async function listTasks(server: Server, params: ListTasksParams): Promise<readonly Task[]> {
  const { runId, after } = params;
  if ((runId !== undefined && !isUuid(runId)) || (after !== undefined && !isUuid(after.runId))) return [];
  const { statement, values } = listTasksStatement(server.schema, params);
  return (await server.run(statement, values)).map(taskOf);
}

/**
 * In the order of the key, up to the limit; dead letters by an index of their own, in the same order. There are never many held
 * tasks: all of them are read and sorted.
 */
export function listTasksStatement(schema: string, params: ListTasksParams) {
  const at = quoteName(schema);
  const values: unknown[] = [];
  const shape: string[] = [];
  const value = (letter: string, wanted: unknown): string => {
    shape.push(letter);
    return `$${values.push(wanted)}`;
  };
  const { namespace, name, queue, status, runId, after } = params;
  const conditions = [`l.namespace = ${value("", namespace)}`];
  if (name !== undefined) conditions.push(`l.name = ${value("n", name)}`);
  if (queue !== undefined) conditions.push(`l.queue = ${value("q", queue)}`);
  if (status !== undefined) {
    shape.push(` ${status} `);
    conditions.push(status === "held" ? "t.held_by is not null" : `t.status = '${status}'`);
  }
  if (runId !== undefined) conditions.push(`t.run_id = ${value("r", runId)}::uuid`);
  if (after !== undefined) {
    conditions.push(`(t.run_id, t.seq) > (${value("a", after.runId)}::uuid, ${value("", after.seq)}::int)`);
  }
  const text = `
    select v.* from (
      select t.run_id, t.seq from ${at}.tasks t join ${at}.task_lanes l on l.lane_id = t.lane_id
       where ${conditions.join(" and ")} order by t.run_id, t.seq limit ${value("", params.limit)}) k
      join ${at}.task_rows v on v.run_id = k.run_id and v.seq = k.seq order by v.run_id, v.seq`;
  const statement: Statement = { name: `list_tasks ${shape.join("")}`, text, reads: true };
  return { statement, values };
}

export async function taskPosition(server: Server, params: Place): Promise<number | null> {
  const [row] = await server.read(TASK_POSITION, params);
  return (row?.c ?? null) as number | null;
}
