import type { ErrorCodeInfo } from "./code-info.ts";

/** What can happen between runs, and to updates and queries. */
export const CONVERSATION_CODES = {
  child_depth_exceeded: {
    group: "workflow_execution",
    caller: "bug",
    kind: "BadRequest",
    summary: "The run is a child of children, 100 levels deep: it cannot have children itself.",
    advice:
      "Look for a workflow that starts itself without end; use a loop or ctx.continueAsNew() instead of recursion.",
  },
  namespace_refused: {
    group: "configuration",
    caller: "conflict",
    kind: "Unauthorized",
    summary: "A run tried to reach a run of another namespace, which has not let in the namespace of the first.",
    advice: "Call hf.namespaces.allow(other) on a client of the namespace that is to be reached.",
  },
  lock_timeout: {
    group: "timeout",
    caller: "retry_later",
    kind: "Timeout",
    summary: "The lock was not granted within the timeout of ctx.withLock. The run no longer stands in line.",
    advice: "Catch it and go another way, or wait longer. hf.locks.list(name) shows who holds the lock.",
  },
  lock_held: {
    group: "workflow_execution",
    caller: "bug",
    kind: "BadRequest",
    summary: "The same part of the run holds the lock of this ctx.withLock already, or waits for it.",
    advice: "Leave the first ctx.withLock before the second one; for a lock between branches, use ctx.parallel.",
  },
  update_rejected: {
    group: "validation",
    caller: "fix_input",
    kind: "ValidationError",
    summary: "The run refused the update before its handler was called: validate threw. Nothing has happened.",
    advice:
      "cause is what validate threw. Correct the argument, or wait until the run is in another state, and send it with a new id: the refusal of this one stays.",
  },
  update_failed: {
    group: "workflow_execution",
    caller: "inspect",
    kind: "Unknown",
    summary: "The handler of the update threw. The run itself continues.",
    advice: "cause is the original error. What the handler did before stays; a new update needs a new id.",
  },
  update_timeout: {
    group: "timeout",
    caller: "retry_later",
    kind: "Timeout",
    summary: "The update was not answered within the timeout of the call. It may still be accepted and answered.",
    advice: "Ask again with the same id; check that a worker for the workflow is running.",
  },
  handler_not_found: {
    group: "workflow_execution",
    caller: "fix_input",
    kind: "NotFound",
    summary: "The run has no handler for this update or query at this point.",
    advice:
      "Check the name; register handlers with ctx.on before the first await, or early updates and queries are refused.",
  },
  run_continued: {
    group: "concurrency",
    caller: "conflict",
    kind: "BadRequest",
    summary: "The run accepted the update and continued as new before the handler had answered.",
    advice: "Send it again with a new id; in the workflow, wait for the handlers before ctx.continueAsNew.",
  },
  query_failed: {
    group: "workflow_execution",
    caller: "inspect",
    kind: "Unknown",
    summary:
      "The handler of the query threw, used ctx, was asynchronous, or made the run go on; or the code of the run does not match its history.",
    advice: "cause is the original error. A query handler returns a value at once and changes nothing.",
  },
  run_not_begun: {
    group: "workflow_execution",
    caller: "retry_later",
    kind: "Timeout",
    summary: "The query has no answer: the code of the run has not come to its first wait yet.",
    advice:
      "Ask again later. A run with a delay begins when that is over, a parked one when it is resumed; any other needs a worker.",
  },
  query_timeout: {
    group: "timeout",
    caller: "retry_later",
    kind: "Timeout",
    summary: "No process that has the code of the run has answered the query within 10 seconds.",
    advice: "Start a worker that offers the workflow in this version, or ask again.",
  },
  update_id_taken: {
    group: "concurrency",
    caller: "conflict",
    kind: "BadRequest",
    summary: "The run has had an update of another name with this id. Nothing has happened.",
    advice: "Give the update an id of its own: an id stands for one update of a run, and of those that continue it.",
  },
} as const satisfies Readonly<Record<string, ErrorCodeInfo>>;
