/**
 * What the log says when attempts and runs fail: written for people who read it at night, so it says what, where and what
 * comes next.
 */
import { formatDuration } from "../model/duration.ts";
import type { ErrorRecord } from "../model/error-record.ts";
import { DEFAULT_RETRY } from "../model/retry-policy.ts";
import type { Run } from "../model/run.ts";
import type { Task, TaskFailure } from "../model/task.ts";
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
  return op.includes("#") ? op.replace(/#\d+$/, "") : op;
}

export function writeFailedAttempt(lines: RepeatedLines, failed: FailedAttempt): void {
  const { run, op, attempt, attempts, error, nextMs } = failed;
  lines.write({
    level: "warn",
    kind: `attempt ${run.workflow} ${stepName(op)} ${error.name} ${nextMs === undefined}`,
    fields: { ...aboutRun(run), op, attempt, ...codeOf(error) },
    message: `step "${op}" failed, attempt ${attempt} of ${attempts}, ${nextText(failed)}: ${summaryOf(error)}`,
  });
}

/** On the worker that executed it: the run knows of the last attempt only. */
export function writeFailedTask(
  lines: RepeatedLines,
  task: Task,
  error: TaskFailure,
  nextMs: number | undefined,
): void {
  const { namespace, runId, op, name, attempt, spec } = task;
  const { attempts } = spec?.retry ?? DEFAULT_RETRY;
  lines.write({
    level: "warn",
    kind: `task ${name} ${error.name} ${nextMs === undefined}`,
    fields: { namespace, runId, op, task: name, attempt, ...codeOf(error) },
    message: `task "${op}" failed, attempt ${attempt} of ${attempts}, ${nextText({ attempt, attempts, nextMs })}: ${summaryOf(error)}`,
  });
}

function nextText({ attempt, attempts, nextMs }: Pick<FailedAttempt, "attempt" | "attempts" | "nextMs">): string {
  if (nextMs !== undefined) return `next attempt in ${roundedDuration(nextMs)}`;
  return attempt < attempts ? "it is not retried" : "no attempts are left";
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
  // That is what a person wanted, and no failure.
  if (transition.type === "park" && transition.paused) return;
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

function codeOf({ code }: Pick<ErrorRecord, "code">): object {
  return code === undefined ? {} : { code };
}

function summaryOf({ name, message }: Pick<ErrorRecord, "name" | "message">): string {
  return name === "Error" || name === "HoldfastError" ? message : `${name}: ${message}`;
}
