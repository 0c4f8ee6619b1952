/**
 * What the log says when attempts and runs fail: written for people who read it at night, so it says what, where and what
 * comes next.
 */
import { formatDuration } from "../model/duration.ts";
import type { ErrorRecord } from "../model/error-record.ts";
import type { Run } from "../model/run.ts";
import type { Transition } from "../ports/store.ts";
import type { RepeatedLines } from "./repeated-lines.ts";

export interface FailedAttempt {
  readonly run: Run;
  readonly op: string;
  readonly attempt: number;
  readonly attempts: number;
  readonly error: ErrorRecord;
  /** How long until the next attempt; undefined if there is none. */
  readonly nextMs: number | undefined;
}

/** The fields of every line about a run. */
export function aboutRun({ namespace, workflow, id, runId }: Run): object {
  return { namespace, workflow, id, runId };
}

/** Without the occurrence: the steps of a loop are one step that is executed many times. */
export function stepName(op: string): string {
  return op.replace(/#\d+$/, "");
}

export function writeFailedAttempt(lines: RepeatedLines, failed: FailedAttempt): void {
  const { run, op, attempt, attempts, error, nextMs } = failed;
  const next =
    nextMs !== undefined
      ? `next attempt in ${roundedDuration(nextMs)}`
      : attempt < attempts
        ? "it is not retried"
        : "no attempts are left";
  lines.write({
    level: "warn",
    kind: `attempt ${run.workflow} ${stepName(op)} ${error.name} ${nextMs === undefined}`,
    fields: { ...aboutRun(run), op, attempt, ...codeOf(error) },
    message: `step "${op}" failed, attempt ${attempt} of ${attempts}, ${next}: ${summaryOf(error)}`,
  });
}

/** A `retryIf` function threw while it judged a failed attempt. */
export function writeBrokenRule(
  lines: RepeatedLines,
  { run, op, attempt, error }: Pick<FailedAttempt, "run" | "op" | "attempt" | "error">,
): void {
  lines.write({
    level: "warn",
    kind: `retryIf ${run.workflow} ${stepName(op)} ${error.name}`,
    fields: { ...aboutRun(run), op, attempt, ...codeOf(error) },
    message: `retryIf of step "${op}" threw, so the default rule decides about attempt ${attempt}: ${summaryOf(error)}`,
  });
}

/** The whole run is retried, by the workflow's `retry`. */
export function writeRetriedRun(lines: RepeatedLines, run: Run, attempt: number, error: ErrorRecord, ms: number): void {
  lines.write({
    level: "warn",
    kind: `retried ${run.workflow} ${error.name}`,
    fields: { ...aboutRun(run), attempt, ...codeOf(error) },
    message: `run failed, attempt ${attempt}, next attempt in ${roundedDuration(ms)}: ${summaryOf(error)}`,
  });
}

export function writeEnd(lines: RepeatedLines, run: Run, transition: Transition): void {
  const ended = transition.type === "park" || (transition.type === "end" && transition.error);
  if (!ended || (transition.type === "end" && !["failed", "timed_out"].includes(transition.status))) return;
  const error = transition.error as ErrorRecord;
  const what = transition.type === "park" ? "parked" : transition.status === "failed" ? "failed" : "timed out";
  lines.write({
    level: transition.type === "park" ? "error" : "warn",
    kind: `${what} ${run.workflow} ${error.name} ${error.code ?? ""}`,
    fields: { ...aboutRun(run), ...codeOf(error) },
    message: `run ${what}: ${summaryOf(error)}`,
  });
}

/** For minutes, milliseconds are noise. */
function roundedDuration(ms: number): string {
  const step = ms < 1_000 ? 1 : ms < 60_000 ? 100 : 1_000;
  return formatDuration(Math.ceil(ms / step) * step);
}

function codeOf({ code }: ErrorRecord): object {
  return code === undefined ? {} : { code };
}

function summaryOf({ name, message }: ErrorRecord): string {
  return name === "Error" || name === "HoldfastError" ? message : `${name}: ${message}`;
}
