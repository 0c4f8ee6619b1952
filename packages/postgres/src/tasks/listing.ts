import type { ListTasksParams, ReadTasksParams, Task, TaskKey } from "holdfast/adapter";
import { isUuid } from "../database/binary-array.ts";
import type { Server } from "../database/server.ts";
import { queryOf, readingCallOf } from "../database/server-call.ts";
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

export const LIST_TASKS = readingCallOf<ListTasksParams>("list_tasks", {
  p_namespace: ({ namespace }) => namespace,
  p_name: ({ name }) => name ?? null,
  p_queue: ({ queue }) => queue ?? null,
  p_status: ({ status }) => status ?? null,
  p_run: ({ runId }) => runId ?? null,
  p_after_run: ({ after }) => after?.runId ?? null,
  p_after_seq: ({ after }) => after?.seq ?? null,
  p_limit: ({ limit }) => limit,
});

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
  return (await server.read(LIST_TASKS, params)).map(taskOf);
}

export async function taskPosition(server: Server, params: Place): Promise<number | null> {
  const [row] = await server.read(TASK_POSITION, params);
  return (row?.c ?? null) as number | null;
}
