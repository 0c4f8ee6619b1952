import type { ErrorCodeInfo } from "./code-info.ts";

/** What can happen to tasks. */
export const TASK_CODES = {
  task_failed: {
    group: "activity_execution",
    caller: "inspect",
    kind: "Unknown",
    summary: "A task failed and will not be retried.",
    advice:
      'name, message, kind and stack are those of the original error; op and attempts say which op failed, after how many attempts. hf.tasks.list({ status: "dead" }) shows it until the run is retried or purged.',
  },
  task_timeout: {
    group: "timeout",
    caller: "inspect",
    kind: "Timeout",
    summary: "An attempt of a task did not end within its timeout.",
    advice: "Pass t.signal to everything it calls; raise the timeout if it needs longer.",
  },
  task_heartbeat_timeout: {
    group: "timeout",
    caller: "inspect",
    kind: "Timeout",
    summary: "An attempt of a task did not call t.heartbeat for longer than its heartbeat option allows.",
    advice: "Call t.heartbeat more often, or allow longer silences.",
  },
  task_start_timeout: {
    group: "timeout",
    caller: "inspect",
    kind: "Timeout",
    summary: "No worker took a task within its startTimeout. It is never retried.",
    advice: "hf.workers.list() shows which workers serve its queue, and with which labels; start one that can take it.",
  },
  task_total_timeout: {
    group: "timeout",
    caller: "inspect",
    kind: "Timeout",
    summary: "A task did not end within its totalTimeout, all attempts together. It is never retried.",
    advice: "The failures of its attempts are in the task_failed event; raise the totalTimeout if it needs longer.",
  },
  task_crashed: {
    group: "activity_execution",
    caller: "inspect",
    kind: "Unknown",
    summary:
      'The worker, or a process of its task pool, died during a task with onCrash "fail", or three times while it executed only this task; or the worker was stopped during a task with onCrash "fail". Whether the task took effect is unknown.',
    advice: "Find out with the task's idempotency key; find out what kills the process.",
  },
  task_canceled: {
    group: "canceled",
    caller: "inspect",
    kind: "Unknown",
    summary: "The run gave the task up: it was canceled, it failed, or another branch has won.",
    advice: "Nothing to do: the task's function stops when t.signal is aborted, and its result is dropped.",
  },
  task_pool_failed: {
    group: "activity_execution",
    caller: "fix_input",
    kind: "Unknown",
    summary: "The processes of a worker's task pool cannot be started, or a worker was started inside one.",
    advice:
      "The module of the pool must load in a process of its own, export every task of the worker, and start no worker itself.",
  },
  task_not_found: {
    group: "task_queue",
    caller: "not_found",
    kind: "NotFound",
    summary: "There is no task with this token in this namespace.",
    advice: "Check that the token is complete, and that the client is connected to the right store and namespace.",
  },
  task_closed: {
    group: "concurrency",
    caller: "conflict",
    kind: "BadRequest",
    summary:
      "The attempt that the token belongs to is over: the task was completed or failed before, was tried again, or its run has ended.",
    advice: "Nothing to do. If the task was tried again, hf.tasks.list shows its current token.",
  },
} as const satisfies Record<string, ErrorCodeInfo>;
