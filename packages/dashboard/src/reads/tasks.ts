import type { TaskStatus, TaskView } from "holdfast";
import { refusal } from "../answers/refusal.ts";
import type { TaskRow, TasksPage } from "../api/operation-messages.ts";
import { rowsOf } from "./listed-rows.ts";
import { wholeNumber } from "./query-values.ts";
import { type Ask, type Scope, storeNow } from "./scope.ts";
import { BRIEF_CHARACTERS, PREVIEW_CHARACTERS } from "./shown-value.ts";

export async function tasks({ scope, query }: Ask): Promise<TasksPage> {
  const [name, queue, status, runId, cursor] = ["name", "queue", "status", "run", "cursor"].map((one) =>
    query.get(one),
  );
  const page = await scope.view.tasks.list({
    limit: Math.max(1, wholeNumber(query, "limit", 100, 200)),
    ...(name ? { name } : {}),
    ...(queue ? { queue } : {}),
    ...(status ? { status: status as TaskStatus } : {}),
    ...(runId ? { runId } : {}),
    ...(cursor ? { cursor } : {}),
  });
  const rows = await rowsOf(
    scope,
    page.tasks.map((task) => task.runId),
  );
  const runs = new Map(rows.map((row) => [row.runId, row]));
  return {
    tasks: page.tasks.map((task) => taskRow(scope, task, runs.get(task.runId))),
    cursor: page.cursor,
    now: await storeNow(scope),
  };
}

function taskRow(
  { values, namespace }: Scope,
  task: TaskView,
  run: { readonly id: string; readonly workflow: string } | undefined,
): TaskRow {
  const { token, name, queue, status, runId, op, attempt, requires, failures } = task;
  const place = { namespace, workflow: run?.workflow ?? "" };
  return {
    ref: token === undefined ? null : refOf(task),
    name,
    queue,
    status,
    runId,
    id: run?.id ?? null,
    op,
    attempt,
    availableAt: task.availableAt?.getTime() ?? null,
    workerId: task.workerId ?? null,
    requires,
    input: values.show(task.input, { ...place, what: op }, BRIEF_CHARACTERS),
    details: values.show(task.lastDetails, { ...place, what: op }, PREVIEW_CHARACTERS),
    failures: failures.map((failure) => ({
      ...failure,
      message: values.errorText(failure.message),
      at: Number(failure.at),
    })),
    createdAt: task.createdAt.getTime(),
  };
}

/** A token opens the task to whoever has it, for as long as its attempt is open; this one only to those who are let in here. */
function refOf({ runId, op, attempt }: TaskView): string {
  return Buffer.from(JSON.stringify([runId, op, attempt])).toString("base64url");
}

/** The token of the attempt that a page has shown. */
export async function tokenOf({ act }: Scope, ref: unknown): Promise<string> {
  const [runId, op, attempt] = readRef(ref);
  let cursor: string | null | undefined;
  do {
    const page = await act.tasks.list({ runId, limit: 1_000, ...(cursor ? { cursor } : {}) });
    const found = page.tasks.find((task) => task.op === op && task.attempt === attempt);
    if (found?.token !== undefined) return found.token;
    cursor = page.cursor;
  } while (cursor !== null);
  throw refusal(409, "task_closed", `That attempt of task "${op}" is over. Read the list again.`);
}

function readRef(ref: unknown): [string, string, number] {
  try {
    const read: unknown = JSON.parse(Buffer.from(ref as string, "base64url").toString());
    const [runId, op, attempt] = read as unknown[];
    if (typeof runId === "string" && typeof op === "string" && typeof attempt === "number") return [runId, op, attempt];
  } catch {
    // reported below
  }
  throw refusal(400, "bad_request", "ref is not one of the list of tasks.");
}
