import type { ErrorRecord } from "../model/error-record.ts";
import type { CompensationOutcome } from "../model/run.ts";
import { ERROR_CODES, type ErrorCode, isErrorCode } from "./codes.ts";
import { HoldfastError, isHoldfastError, nameOf } from "./holdfast-error.ts";

// A record is cut when it is made; this guards against records made by other software.
const CAUSE_DEPTH_MAX = 20;

/** What to do about a run that is parked. */
export const PARKED_ADVICE =
  'The run has not ended. If the code was wrong, fixed code takes it up on its own; after any other fix, call handle.resume(). handle.terminate() ends it, and result({ onParked: "wait" }) waits until it ends.';

/** Why a run is parked, and what to do about it. */
export function parkedText(reason = "no reason was recorded."): string {
  return `${reason}${/[.!?…]$/.test(reason) ? "" : "."} ${PARKED_ADVICE}`;
}

/** What the error of a run is made from. */
export interface RunErrorInit {
  /** The run's id: chosen by the caller, or generated. */
  readonly id: string;
  readonly runId: string;
  readonly workflow: string;
  readonly reason?: string | undefined;
  /** How its compensations ended, if it had any. */
  readonly compensation?: CompensationOutcome | undefined;
  readonly cause?: unknown;
  /** The op that waited for it, in the run that receives the error. */
  readonly op?: string | undefined;
}

/** Which run it was, and the reason if one was given. */
export interface RunErrorData extends Readonly<Record<string, unknown>> {
  readonly id: string;
  readonly runId: string;
  readonly workflow: string;
  readonly reason?: string;
  /** How its compensations ended, if it had any. `steps()` shows those that failed. */
  readonly compensation?: CompensationOutcome;
}

/** A run that did not complete. `data` says which. */
export abstract class RunError extends HoldfastError {
  declare readonly data: RunErrorData;
  /** In workflow code that waited for another run: the op that did. */
  declare readonly op?: string;

  constructor(code: ErrorCode, what: string, why: string | undefined, init: RunErrorInit) {
    const { id, runId, workflow, reason, compensation, cause } = init;
    const undo = compensation === "compensation_failed" ? ", and its compensation failed (see steps())" : "";
    // Of a run that was named by its id, workflow code knows no run id.
    const which = runId === "" ? `"${workflow}"` : `"${workflow}" (${runId})`;
    const message = `Run "${id}" of workflow ${which} ${what}${undo}${why ? `: ${why}` : ""}`;
    super(code, message, {
      // A run has the kind of its cause: the caller's retry rules should see it.
      kind: isHoldfastError(cause) ? cause.kind : ERROR_CODES[code].kind,
      data: {
        id,
        runId,
        workflow,
        ...(reason === undefined ? {} : { reason }),
        ...(compensation === undefined ? {} : { compensation }),
      },
      cause,
    });
    if (init.op !== undefined) Object.defineProperty(this, "op", { value: init.op, enumerable: false });
  }
}

/** The run failed. `cause` is the original error. */
export class RunFailedError extends RunError {
  /** What was thrown: name, message, kind, stack and attempts as recorded. */
  declare readonly cause: RecordedError | undefined;

  static {
    nameOf(this.prototype, "RunFailedError");
  }

  constructor(init: RunErrorInit) {
    super("run_failed", "failed", init.reason ?? causeText(init.cause), init);
  }
}

/** The run was canceled; `data.reason` says why, if a reason was given. */
export class RunCanceledError extends RunError {
  static {
    nameOf(this.prototype, "RunCanceledError");
  }

  constructor(init: RunErrorInit) {
    super("run_canceled", "was canceled", init.reason, init);
  }
}

/** The run was terminated; `data.reason` says why, if a reason was given. */
export class RunTerminatedError extends RunError {
  static {
    nameOf(this.prototype, "RunTerminatedError");
  }

  constructor(init: RunErrorInit) {
    super("run_terminated", "was terminated", init.reason, init);
  }
}

/** The run did not end within its timeout. */
export class RunTimedOutError extends RunError {
  static {
    nameOf(this.prototype, "RunTimedOutError");
  }

  constructor(init: RunErrorInit) {
    super("run_timed_out", "did not end within its timeout", init.reason, init);
  }
}

/** The run is parked and has not ended: `cause` says why it cannot continue now. */
export class RunParkedError extends RunError {
  declare readonly cause: RecordedError | undefined;

  static {
    nameOf(this.prototype, "RunParkedError");
  }

  constructor(init: RunErrorInit) {
    super("run_parked", "is parked", parkedText(init.cause instanceof Error ? init.cause.message : undefined), init);
  }
}

/** An error restored from history: it looks like the one that was thrown, whichever process threw it. */
export class RecordedError extends HoldfastError {
  /** The code of the original error, including codes of other software (`ECONNRESET`, `23505`). */
  readonly recordedCode: string | undefined;
  /** How many times the op had been executed when it failed for good. */
  readonly attempts: number | undefined;
  /** The op that failed. */
  readonly op: string | undefined;
  /** The name of the task, if that op is one. */
  readonly task: string | undefined;
  /** The id of the other run, if that op is about one. */
  readonly run: string | undefined;

  constructor(record: ErrorRecord, depth = 0) {
    super(codeOf(record), record.message, {
      kind: record.kind,
      ...(record.data === undefined ? {} : { data: record.data }),
      cause:
        record.cause === undefined || depth >= CAUSE_DEPTH_MAX ? undefined : new RecordedError(record.cause, depth + 1),
    });
    nameOf(this, record.name);
    // The stack of this object is meaningless; without a recorded stack, only its first line is known.
    const stack = record.stack ?? `${record.name}: ${record.message}`;
    Object.defineProperty(this, "stack", { value: stack, configurable: true, writable: true });
    this.recordedCode = record.code;
    this.attempts = record.attempts;
    this.op = record.op;
    this.task = record.task;
    this.run = record.run;
  }
}

function codeOf(record: ErrorRecord): ErrorCode {
  if (record.run !== undefined) return isErrorCode(record.code) ? record.code : "application_error";
  if (record.task !== undefined) return isTaskEnd(record.code) ? record.code : "task_failed";
  if (record.op !== undefined) return "step_failed";
  return isErrorCode(record.code) ? record.code : "application_error";
}

/** What ends a task without its function having thrown. */
function isTaskEnd(code: string | undefined): code is ErrorCode {
  return isErrorCode(code) && TASK_ENDS.has(code);
}

const TASK_ENDS: ReadonlySet<string> = new Set([
  "task_timeout",
  "task_heartbeat_timeout",
  "task_start_timeout",
  "task_total_timeout",
  "task_crashed",
  "task_canceled",
]);

/** Whether the error is what has become of an op: a step, a task, a child, or a message to another run. */
export function isOpFailure(error: HoldfastError): boolean {
  const { code } = error;
  return code === "step_failed" || code === "task_failed" || TASK_ENDS.has(code) || isOfOtherRun(error);
}

/** Whether it tells workflow code how another run has ended, or why that run could not be reached. */
export function isOfOtherRun(error: unknown): error is HoldfastError {
  if (!isHoldfastError(error)) return false;
  return error instanceof RecordedError ? error.run !== undefined : error instanceof RunError && error.op !== undefined;
}

/** The error of a run that ended in any way but to complete. */
export function runErrorOf(status: string, init: RunErrorInit): RunError {
  if (status === "canceled") return new RunCanceledError(init);
  if (status === "terminated") return new RunTerminatedError(init);
  return status === "timed_out" ? new RunTimedOutError(init) : new RunFailedError(init);
}

function causeText(cause: unknown): string | undefined {
  if (cause instanceof Error) return `${cause.name}: ${cause.message}`;
  return typeof cause === "string" ? cause : undefined;
}
