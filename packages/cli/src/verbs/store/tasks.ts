import type { TaskListOptions, TaskView } from "holdfast";
import type { Call } from "../../command/call.ts";
import { given, readInput } from "../../command/values.ts";
import type { Action } from "../../command/verb.ts";
import { shownJson } from "../../output/json-line.ts";
import { statusColor } from "../../output/paint.ts";
import type { Column } from "../../output/table.ts";
import { fullTime, relativeTime } from "../../output/times.ts";
import { harmless } from "../../output/width.ts";

const LIMIT_DEFAULT = 50;

export const list: Action = async (call) => {
  const hf = await call.open();
  const [name, queue, status, runId] = ["name", "queue", "status", "run-id"].map((option) => call.text(option));
  const limit = call.number("limit") ?? LIMIT_DEFAULT;
  const page = await hf.tasks.list({ ...given({ name, queue, status, runId }), limit } as TaskListOptions);
  const { paint } = call.out;
  const now = call.io.now();
  const columns: readonly Column<TaskView>[] = [
    { title: "TASK", value: (task) => task.name, cut: "middle", paint: (text) => paint.bold(text) },
    { title: "STATUS", value: (task) => task.status, paint: (text, task) => statusColor(paint, task.status, text) },
    { title: "QUEUE", value: (task) => task.queue, cut: "end" },
    { title: "ATTEMPT", value: ({ attempt }) => String(attempt), align: "right" },
    { title: "CREATED", value: ({ createdAt }) => relativeTime(createdAt, now) },
    { title: "RUN", value: (task) => task.runId, cut: "middle" },
    { title: "ERROR", value: ({ error }) => errorOf(error), cut: "end", optional: true },
    ...(call.flag("tokens") ? [{ title: "TOKEN", value: ({ token }: TaskView) => token ?? "" }] : []),
  ];
  call.out.table(page.tasks, columns, "No tasks match.");
  if (page.cursor !== null) call.out.note(call.out.errorPaint.dim(`The first ${limit}. More: --limit.`));
  return undefined;
};

function errorOf(error: TaskView["error"]): string {
  const { message } = ((error as { readonly error?: unknown } | undefined)?.error ?? error ?? {}) as {
    message?: string;
  };
  return message ?? "";
}

export const get: Action = async (call) => {
  const hf = await call.open();
  const task = await hf.tasks.get(call.argument("task-token"));
  call.out.record(task);
  showTask(call, task);
  return undefined;
};

function showTask(call: Call, task: TaskView): void {
  const { out, io } = call;
  const json = (value: unknown): string => (value === undefined ? "" : harmless(shownJson(value)));
  out.line(`${out.paint.bold(task.name)}  ${statusColor(out.paint, task.status)}`);
  out.line();
  out.facts([
    ["queue", task.queue],
    ["run", task.runId],
    ["op", task.op],
    ["attempt", String(task.attempt)],
    ["created", fullTime(task.createdAt, io.now())],
    ["due", fullTime(task.availableAt, io.now())],
    ["worker", task.workerId],
    ["requires", task.requires.join(", ")],
    ["input", json(task.input)],
    ["details", json(task.lastDetails)],
    ["error", harmless(errorOf(task.error))],
  ]);
}

export const complete: Action = async (call) => {
  const token = call.argument("task-token");
  const result = await readInput(call);
  const hf = await call.open();
  await hf.tasks.complete(token, result);
  call.out.done("The task is completed", { completed: true });
  return undefined;
};

export const fail: Action = async (call) => {
  const token = call.argument("task-token");
  const hf = await call.open();
  const { NonRetryableError } = await call.core();
  const message = call.text("message") ?? "failed by hand";
  await hf.tasks.fail(token, call.flag("non-retryable") ? new NonRetryableError(message) : new Error(message));
  call.out.done("The attempt has failed", { failed: true });
  return undefined;
};

export const retry: Action = async (call) => {
  const hf = await call.open();
  await hf.tasks.retry(call.argument("task-token"));
  call.out.done("The run goes on at the task", { retried: true });
  return undefined;
};
