import type { ErrorRecord } from "../model/error-record.ts";
import type { CompensationOutcome } from "../model/run.ts";
import { ERROR_CODES, type ErrorCode, isErrorCode } from "./codes.ts";
import { HoldfastError, isHoldfastError, nameOf } from "./holdfast-error.ts";

// A record is cut when it is made; this guards against one that somebody else made.
const CAUSE_DEPTH_MAX = 20;

/** What to do about a run that is parked. */
export const PARKED_ADVICE =
  'The run is not over: fixed code takes it up by itself where the code was wrong, handle.resume() lets it go on after any other repair, handle.terminate() ends it, and result({ onParked: "wait" }) waits for either.';

/** What the error of a run is made from. */
export interface RunErrorInit {
  /** The id that the caller gave, or was given. */
  readonly id: string;
  readonly runId: string;
  readonly workflow: string;
  readonly reason?: string | undefined;
  /** What became of its compensations, if it had any. */
  readonly compensation?: CompensationOutcome | undefined;
  readonly cause?: unknown;
}

/** Which run it was, and the reason where one was given. */
export interface RunErrorData extends Readonly<Record<string, unknown>> {
  readonly id: string;
  readonly runId: string;
  readonly workflow: string;
  readonly reason?: string;
  /** What became of its compensations, if it had any. Those that failed are in `steps()`. */
  readonly compensation?: CompensationOutcome;
}

/** A run that did not complete. `data` says which. */
export abstract class RunError extends HoldfastError {
  declare readonly data: RunErrorData;

  constructor(code: ErrorCode, what: string, why: string | undefined, init: RunErrorInit) {
    const { id, runId, workflow, reason, compensation, cause } = init;
    const undo = compensation === "compensation_failed" ? ", and its compensation failed (see steps())" : "";
    const message = `Run "${id}" of workflow "${workflow}" (${runId}) ${what}${undo}${why ? `: ${why}` : ""}`;
    super(code, message, {
      // A run fails in the way in which its cause did: retry rules of a caller should see that.
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
  }
}

/** The run has failed. `cause` is the original error. */
export class RunFailedError extends RunError {
  /** What was thrown: name, message, kind, stack and attempts as they were recorded. */
  declare readonly cause: RecordedError | undefined;

  static {
    nameOf(this.prototype, "RunFailedError");
  }

  constructor(init: RunErrorInit) {
    super("run_failed", "failed", init.reason ?? causeText(init.cause), init);
  }
}

/** The run was canceled; `data.reason` says why, if somebody said so. */
export class RunCanceledError extends RunError {
  static {
    nameOf(this.prototype, "RunCanceledError");
  }

  constructor(init: RunErrorInit) {
    super("run_canceled", "was canceled", init.reason, init);
  }
}

/** The run was terminated; `data.reason` says why, if somebody said so. */
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

/** The run is not over: `cause` says why nothing can go on with it now. */
export class RunParkedError extends RunError {
  declare readonly cause: RecordedError | undefined;

  static {
    nameOf(this.prototype, "RunParkedError");
  }

  constructor(init: RunErrorInit) {
    super(
      "run_parked",
      "is parked",
      `${init.cause instanceof Error ? init.cause.message : "no reason is recorded."} ${PARKED_ADVICE}`,
      init,
    );
  }
}

/** An error read back from history: it looks like the one that was thrown, in whichever process that was. */
export class RecordedError extends HoldfastError {
  /** The code that the original error carried, also when it is none of Holdfast's (`ECONNRESET`, `23505`). */
  readonly recordedCode: string | undefined;
  /** How often the op had been executed when it was given up. */
  readonly attempts: number | undefined;
  /** The op that failed. */
  readonly op: string | undefined;

  constructor(record: ErrorRecord, depth = 0) {
    super(codeOf(record), record.message, {
      kind: record.kind,
      ...(record.data === undefined ? {} : { data: record.data }),
      cause:
        record.cause === undefined || depth >= CAUSE_DEPTH_MAX ? undefined : new RecordedError(record.cause, depth + 1),
    });
    nameOf(this, record.name);
    // Where this object was made says nothing; without a recorded stack the best answer is its first line.
    const stack = record.stack ?? `${record.name}: ${record.message}`;
    Object.defineProperty(this, "stack", { value: stack, configurable: true, writable: true });
    this.recordedCode = record.code;
    this.attempts = record.attempts;
    this.op = record.op;
  }
}

function codeOf(record: ErrorRecord): ErrorCode {
  if (record.op !== undefined) return "step_failed";
  return isErrorCode(record.code) ? record.code : "application_error";
}

function causeText(cause: unknown): string | undefined {
  if (cause instanceof Error) return `${cause.name}: ${cause.message}`;
  return typeof cause === "string" ? cause : undefined;
}
