import type { ErrorCodeInfo } from "./code-info.ts";

/** What can happen to runs and in workflow code. */
export const RUN_CODES = {
  run_not_found: {
    group: "workflow_execution",
    caller: "not_found",
    kind: "NotFound",
    summary: "There is no run with this id in this namespace.",
    advice: "Check the id and the namespace; purge() may have deleted an old run.",
  },
  queue_full: {
    group: "task_queue",
    caller: "retry_later",
    kind: "RateLimitExceeded",
    summary: "As many runs wait in the queue as its backlog allows (hf.queues.set). The run was not started.",
    advice: "Start it again later, or let it go. hf.queues() shows what waits, and hf.queues.set changes the backlog.",
  },
  run_already_exists: {
    group: "concurrency",
    caller: "conflict",
    kind: "BadRequest",
    summary:
      'A run with this id exists and the start asked to fail in that case (ifRunning or ifClosed "fail"), or fork() was given an id that another run has.',
    advice: 'Use the existing run, choose another id, or start with "return", "replace" or "start".',
  },
  worker_not_found: {
    group: "workflow_execution",
    caller: "not_found",
    kind: "NotFound",
    summary: "There is no such worker in this namespace, or it has stopped or died.",
    advice: "hf.workers.list() shows the workers there are; a worker that registers again has a new id.",
  },
  schedule_not_found: {
    group: "timer_store",
    caller: "not_found",
    kind: "NotFound",
    summary: "There is no schedule with this id in this namespace.",
    advice: "Check the id and the namespace; hf.schedules.list() shows the schedules there are.",
  },
  schedule_already_exists: {
    group: "concurrency",
    caller: "conflict",
    kind: "BadRequest",
    summary: "A schedule with this id exists.",
    advice: "Change it with hf.schedules.update(id, …), or choose another id.",
  },
  start_many_incomplete: {
    group: "concurrency",
    caller: "conflict",
    kind: "BadRequest",
    summary: "Some of the runs of startMany are stored; others were refused, usually because their ids are taken.",
    advice: "data.outcomes has the outcome of each request; cause is the first refusal.",
  },
  workflow_mismatch: {
    group: "workflow_execution",
    caller: "fix_input",
    kind: "BadRequest",
    summary: "The run of get(workflow, id) belongs to another workflow.",
    advice: "Correct the id or the workflow, or use get(id), which accepts any run.",
  },
  run_closed: {
    group: "concurrency",
    caller: "conflict",
    kind: "BadRequest",
    summary:
      "The run has ended, and accepts no more signals, updates or other commands; or it is being wound up, and accepts no more updates. Also: retry() of a failed run that has already compensated its steps, or whose id now belongs to a newer run. Only cancel() and terminate() ignore a closed run without an error.",
    advice: "Read its result, or start a new run.",
  },
  run_moved: {
    group: "concurrency",
    caller: "conflict",
    kind: "BadRequest",
    summary:
      "The run has moved to another store (hf.move), where it goes on. Messages, commands, tokens of its tasks and starts with its id are refused here; the history up to then can still be read.",
    advice: "Connect to the store that data.to names. If the run is not there yet, the move was cut off: repeat it.",
  },
  run_not_failed: {
    group: "concurrency",
    caller: "conflict",
    kind: "BadRequest",
    summary:
      "The run passed to retry() has not failed: it is still open, is parked, or ended in another way, or somebody else has just retried it (this call has changed nothing); or it has not failed on the task passed to tasks.retry().",
    advice:
      "data.status has its status. Use resume() for a parked run; start a new run if it was canceled, terminated or timed out.",
  },
  fork_refused: {
    group: "concurrency",
    caller: "fix_input",
    kind: "BadRequest",
    summary:
      "The run passed to fork() cannot be forked in that way: there is no such op, something before the cut was undone by a compensation, or an edit is for an op that has ended or cannot end that way. A fork that finds an edit for an op of the wrong kind only when its code asks for it is parked.",
    advice: "The message names the op and the place where the run can be forked.",
  },
  run_not_closed: {
    group: "concurrency",
    caller: "conflict",
    kind: "BadRequest",
    summary: "The run has not ended, and only runs that have are purged. A batch skips it.",
    advice: "Cancel or terminate it first, or wait for its end.",
  },
  run_still_needed: {
    group: "concurrency",
    caller: "retry_later",
    kind: "BadRequest",
    summary:
      "The run has ended, but was not purged: it still has to tell another run of that, or another transaction has locked its row. A batch skips it.",
    advice: "Purge again later.",
  },
  batch_id_taken: {
    group: "concurrency",
    caller: "conflict",
    kind: "BadRequest",
    summary: "A batch with this id exists, and has another action, payload or filter. Nothing has happened.",
    advice: "Give the batch an id of its own: an id stands for one batch.",
  },
  run_failed: {
    group: "workflow_execution",
    caller: "inspect",
    kind: "Unknown",
    summary: "The run ended in failure.",
    advice:
      "cause is the original error; data.compensation says how its compensations ended. After a fix, retry() continues at the failed steps, or at the failed compensations.",
  },
  run_canceled: {
    group: "canceled",
    caller: "inspect",
    kind: "Unknown",
    summary: "The run was canceled.",
    advice: "data.reason says why, if a reason was given.",
  },
  run_terminated: {
    group: "canceled",
    caller: "inspect",
    kind: "Unknown",
    summary: "The run was ended from outside, without notifying its code.",
    advice: "data.reason says why, if a reason was given. Nothing was compensated.",
  },
  run_timed_out: {
    group: "timeout",
    caller: "inspect",
    kind: "Timeout",
    summary: "The run did not end within its timeout.",
    advice: "Look in its history for what it waited for; raise the timeout if it needs longer.",
  },
  result_timeout: {
    group: "timeout",
    caller: "retry_later",
    kind: "Timeout",
    summary: "The run did not end while result() waited. The run itself continues.",
    advice: "Wait again, or ask hf.why(id) what the run is waiting for.",
  },
  step_failed: {
    group: "step_execution",
    caller: "inspect",
    kind: "Unknown",
    summary: "A step failed and will not be retried.",
    advice:
      "name, message, kind and stack are those of the original error; op and attempts say which op failed, after how many attempts.",
  },
  step_timeout: {
    group: "timeout",
    caller: "inspect",
    kind: "Timeout",
    summary: "An attempt of a step did not end within its timeout.",
    advice: "Pass the attempt's signal to everything it calls; raise the timeout if it needs longer.",
  },
  step_crashed: {
    group: "step_execution",
    caller: "inspect",
    kind: "Unknown",
    summary: 'The worker died during a step with onCrash "fail"; whether the step took effect is unknown.',
    advice: "Find out with the step's idempotency key, then compensate or continue.",
  },
  application_error: {
    group: "workflow_execution",
    caller: "inspect",
    kind: "Unknown",
    summary: "Workflow code threw an error.",
    advice: "name, message and stack are those of the original error.",
  },
  op_canceled: {
    group: "canceled",
    caller: "inspect",
    kind: "Unknown",
    summary: "An op was canceled, because its run was canceled or its branch lost a race.",
    advice: "Rethrow it, or clean up in ctx.uncancelable().",
  },
  race_failed: {
    group: "workflow_execution",
    caller: "inspect",
    kind: "Unknown",
    summary: "No branch of ctx.race() won.",
    advice:
      "cause is an AggregateError with the failures of all branches, in the order of the branches. If one of them is a bug of the workflow code, the run is parked with workflow_bug.",
  },
  outside_turn: {
    group: "workflow_execution",
    caller: "bug",
    kind: "BadRequest",
    summary:
      "Code used ctx outside the run's turn: after awaiting something other than ctx, or in a timer or callback.",
    advice: "Await only what ctx returns; await everything else inside ctx.step().",
  },
  run_ended: {
    group: "workflow_execution",
    caller: "bug",
    kind: "BadRequest",
    summary: "Code used ctx after the workflow function had returned or thrown.",
    advice: "Await every ctx call before returning.",
  },
  inside_step: {
    group: "step_execution",
    caller: "bug",
    kind: "BadRequest",
    summary: "Code used ctx inside a step's function.",
    advice: "Steps cannot be nested: call ctx from workflow code, before or after the step.",
  },
  too_many_ops: {
    group: "workflow_execution",
    caller: "bug",
    kind: "BadRequest",
    summary: "The run requested more ops than one run may have.",
    advice: "Use ctx.continueAsNew() in long loops, or child runs for wide fan-outs.",
  },
  too_many_signals: {
    group: "signal_dispatcher",
    caller: "retry_later",
    kind: "RateLimitExceeded",
    summary: "The run has more undelivered messages than its inbox may hold.",
    advice: "Send it again when the run has received some; check that it is not stuck.",
  },
  replay_divergence: {
    group: "replay",
    caller: "bug",
    kind: "Unknown",
    summary:
      "The workflow code does not do what the run's history says it did. The run is parked; nothing was executed.",
    advice:
      "Deploy code that matches the history: ctx.patched() or ctx.retired() for intended changes, or a new version.",
  },
  workflow_bug: {
    group: "workflow_execution",
    caller: "bug",
    kind: "Unknown",
    summary:
      "Workflow code itself threw a TypeError or similar, or passed a bad option, name or duration to ctx. The run is parked; nothing of that turn was done.",
    advice: "Deploy fixed code: a worker that starts with it takes up the run on its own. cause is the original error.",
  },
  paused: {
    group: "workflow_execution",
    caller: "inspect",
    kind: "Unknown",
    summary: "A person has paused the run with handle.pause(). It is parked until somebody resumes it.",
    advice: "data.by and data.reason say who and why. handle.resume() lets it continue; handle.cancel() winds it up.",
  },
  run_parked: {
    group: "workflow_execution",
    caller: "inspect",
    kind: "Unknown",
    summary: "The awaited run is parked: it has not ended, and continues once it is resumed or taken up.",
    advice:
      'cause says why. After a fix, call resume(); fixed code takes up runs with a workflow_bug or a replay_divergence on its own. result({ onParked: "wait" }) waits.',
  },
  version_changed: {
    group: "configuration",
    caller: "fix_input",
    kind: "Unknown",
    summary: "The code of a workflow version has changed, and the worker is set to refuse that.",
    advice: 'Give the new code a new version, or start the worker with onChangedCode: "warn".',
  },
  cancel_ignored: {
    group: "canceled",
    caller: "bug",
    kind: "BadRequest",
    summary: "The workflow keeps requesting ops in a loop after it was canceled. The run is parked.",
    advice:
      "Rethrow the cancellation in catch blocks, clean up in ctx.uncancelable(), then resume or terminate the run.",
  },
  crash_unsafe: {
    group: "replay",
    caller: "fix_input",
    kind: "Unknown",
    summary: "A crash at a certain point changes what the workflow does (found by crashEverywhere).",
    advice: "Make the steps named in the message idempotent, then run the test again.",
  },
  crash_loop: {
    group: "workflow_execution",
    caller: "inspect",
    kind: "Unknown",
    summary: "Workers died repeatedly while they executed only this run. The run is parked.",
    advice: "Find out what kills the process (memory, native code, process.exit), then resume the run.",
  },
  foreign_await: {
    group: "replay",
    caller: "bug",
    kind: "BadRequest",
    summary: "The workflow waits for something that is not durable and so can never be replayed.",
    advice: "Await only what ctx returns; await everything else inside ctx.step().",
  },
  forgotten_await: {
    group: "workflow_execution",
    caller: "bug",
    kind: "BadRequest",
    summary: "The workflow function returned while ops were pending (found by the test engine or crashEverywhere).",
    advice: 'Await every op; use ctx.race where some may lose; or test with onForgotten: "warn".',
  },
  non_retryable: {
    group: "step_execution",
    caller: "inspect",
    kind: "Unknown",
    summary: "User code threw NonRetryableError: another attempt cannot help.",
    advice: "Read the message; it comes from your program.",
  },
  retryable: {
    group: "step_execution",
    caller: "retry_later",
    kind: "ServiceUnavailable",
    summary: "User code threw RetryableError: another attempt may help.",
    advice: "Read the message; it comes from your program.",
  },
} as const satisfies Record<string, ErrorCodeInfo>;
