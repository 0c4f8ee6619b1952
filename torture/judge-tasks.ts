/**
 * The judge of tasks. As for steps, no clock is involved: a result names the execution that it came from, a token ends in the
 * epoch under which the task was held, and lines are in the order in which they were written.
 */
import type { TaskSpec } from "holdfast";
import type { HistoryEvent, Task } from "holdfast/adapter";
import type { EffectLine } from "./effects-file.ts";
import type { RunEvidence } from "./evidence.ts";
import type { Report } from "./finding.ts";
import { epochOf, isExecution, judgeBegin, tokenOf } from "./judge-lines.ts";
import type { Answer } from "./token-clerk.ts";

export interface TaskCounts {
  readonly scheduled: number;
  readonly finished: number;
  readonly executions: number;
  /** Executions whose end never became durable. */
  readonly cutOff: number;
  readonly deadLetters: number;
}

export const NO_TASKS: TaskCounts = { scheduled: 0, finished: 0, executions: 0, cutOff: 0, deadLetters: 0 };

/** What is known about one run. */
export interface TaskEvidence extends RunEvidence {
  readonly lines: readonly EffectLine[];
  readonly rows: readonly Task[];
  readonly answers: readonly Answer[];
  /** The tokens of everything that its history has recorded. */
  readonly recorded: ReadonlySet<string>;
}

/** A task, as history tells it. */
interface Scheduled {
  readonly op: string;
  readonly seq: number;
  readonly spec: TaskSpec | undefined;
  readonly outcomes: HistoryEvent[];
  /** The run has given it up. */
  over: boolean;
  /** Another event has scheduled it again. */
  replaced: boolean;
}

export function judgeTasks(evidence: TaskEvidence, report: Report): TaskCounts {
  const scheduled = scheduledIn(evidence.history);
  for (const task of scheduled) {
    const own: TaskEvidence = {
      ...evidence,
      lines: evidence.lines.filter((line) => line.task === task.seq || isOutcomeOf(line, task)),
      rows: evidence.rows.filter(({ seq }) => seq === task.seq),
      answers: evidence.answers.filter(({ seq }) => seq === task.seq),
    };
    const about: Report = (fault, text) => report(fault, `${task.op} (${task.seq}) ${text}`);
    judgeExecutions(task, own, about);
    judgeOutcome(task, own, about);
    judgeRow(task, own, about);
  }
  const known = new Set(scheduled.map(({ seq }) => seq));
  for (const { seq, op, status } of evidence.rows)
    if (!known.has(seq)) report("wrong", `has a task ${op} (${seq}, ${status}) that its history does not know`);
  return countsOf(scheduled, evidence);
}

function isOutcomeOf({ phase, op, seq = 0 }: EffectLine, task: Scheduled): boolean {
  return phase === "durable" && op === task.op && seq > task.seq;
}

function scheduledIn(history: readonly HistoryEvent[]): Scheduled[] {
  const newest = new Map<string, Scheduled>();
  const all: Scheduled[] = [];
  for (const event of history) {
    const { type, seq, meta } = event;
    const op = event.op ?? "";
    const before = newest.get(op);
    if (type === "task_scheduled" || (type === "op_rescheduled" && before)) {
      if (before) before.replaced = true;
      const spec = meta?.task ?? before?.spec;
      const task: Scheduled = { op, seq, spec, outcomes: [], over: false, replaced: false };
      newest.set(op, task);
      all.push(task);
    }
    if (!before) continue;
    if (type === "task_completed" || type === "task_failed") before.outcomes.push(event);
    if (type === "op_canceled") before.over = true;
  }
  return all;
}

// Executions ----------------------------------------------------------------------------------------------------------

function judgeExecutions({ spec, outcomes }: Scheduled, { lines, recorded }: TaskEvidence, report: Report): void {
  const winner = outcomes.map(tokenOf).find(isExecution);
  // A limit on an attempt makes attempts of its own, which leave no line.
  const limited = spec?.timeoutMs !== undefined || spec?.heartbeatMs !== undefined;
  const earlier: EffectLine[] = [];
  for (const line of lines) {
    if (line.phase === "begin") {
      const about: Report = (fault, text) =>
        report(fault, `attempt ${line.attempt} in process ${line.pid}, epoch ${line.epoch}, ${text}`);
      judgeBegin(line, earlier, recorded, about);
      const durable = earlier.find((other) => other.phase === "durable" && endsFor(other, line, earlier));
      if (durable) about("repeated", `began although process ${durable.pid} was told of its end (${durable.event})`);
      else if (winner !== undefined && winner !== line.token && epochOf(winner) <= line.epoch)
        about("repeated", `began although the result of execution ${winner} was recorded before`);
      judgeAttempt(line, earlier, limited, spec, about);
      const reported = earlier.filter(({ event, epoch }) => event === "beat" && epoch < line.epoch);
      const newest = Math.max(0, ...reported.map(({ details = 0 }) => details));
      if (newest > (line.details ?? 0))
        about("lost", `was told the details ${line.details ?? "none"}, but ${newest} were durable`);
    }
    earlier.push(line);
  }
}

/** Whether the attempt of this line was over, according to what a process was told before. */
function endsFor(durable: EffectLine, line: EffectLine, earlier: readonly EffectLine[]): boolean {
  switch (durable.event) {
    case "task_completed":
    case "task_failed":
    case "attempt_completed":
    case "attempt_failed":
      return true;
    case "attempt_retry":
      return line.epoch <= durable.epoch;
    case "attempt_external":
      return earlier.some(({ phase, epoch, attempt }) => {
        return phase === "begin" && epoch === durable.epoch && attempt >= line.attempt;
      });
    default:
      return false;
  }
}

/** Only a failure makes another attempt: the death of a worker does not. */
function judgeAttempt(
  { attempt }: EffectLine,
  earlier: readonly EffectLine[],
  limited: boolean,
  spec: TaskSpec | undefined,
  report: Report,
): void {
  const most = spec?.retry?.attempts;
  if (most !== undefined && attempt > most) report("wrong", `began, but there are only ${most} attempts`);
  if (attempt === 1 || limited) return;
  const failed = earlier.some((line) => line.phase === "end" && line.attempt === attempt - 1);
  if (!failed) report("wrong", "began although no execution of the previous attempt had ended");
}

// Outcomes ------------------------------------------------------------------------------------------------------------

function judgeOutcome({ outcomes }: Scheduled, { lines, answers }: TaskEvidence, report: Report): void {
  if (outcomes.length > 1) report("repeated", `has ${outcomes.length} results in history`);
  const [outcome] = outcomes;
  const done = answers.filter(({ type, outcome: said }) => type === "complete" && said === "done");
  if (done.length > 1) report("repeated", `was completed ${done.length} times with its token`);
  if (outcome?.type !== "task_completed") {
    if (done.length > 0)
      report("lost", `was completed with its token, but history has ${outcome?.type ?? "no result"}`);
    return;
  }
  const token = tokenOf(outcome) ?? "";
  const attempt = outcome.meta?.attempt ?? 1;
  if (done[0] && done[0].token !== token) report("wrong", `has the result ${token}, not the answer ${done[0].token}`);
  if (isExecution(token)) {
    const end = lines.find((line) => line.phase === "end" && line.token === token);
    if (!end) report("wrong", `has the result ${token}, which no execution returned`);
    else if (end.attempt !== attempt) report("wrong", `says attempt ${attempt}, but it was attempt ${end.attempt}`);
    return;
  }
  if (!answers.some((answer) => answer.token === token))
    report("wrong", `has the result ${token}, which nobody has sent`);
  const fails = answers.filter(({ type }) => type === "fail");
  const [least, most] = [fails.filter(({ outcome: said }) => said === "done").length, fails.length];
  if (attempt - 1 < least || attempt - 1 > most)
    report("wrong", `says attempt ${attempt}, but ${least} to ${most} attempts were failed with tokens`);
}

// Rows ----------------------------------------------------------------------------------------------------------------

function judgeRow(task: Scheduled, { run, rows }: TaskEvidence, report: Report): void {
  const { outcomes, over, replaced, spec } = task;
  const [row] = rows;
  const [outcome] = outcomes;
  if (row && row.status !== "dead") {
    if (run.endedAt !== null) report("forgotten", `is still ${row.status}, although its run is ${run.status}`);
    else if (outcome) report("forgotten", `is still ${row.status}, although history has its ${outcome.type}`);
    return;
  }
  if (!row && !outcome && !over && !replaced && run.endedAt === null)
    report("forgotten", "does not exist, but its run waits for it");
  const failed = outcome?.type === "task_failed" && outcome.meta?.withdrawn !== true;
  if (failed && !replaced && !row) report("lost", "failed for good, but its dead letter was not kept");
  if (!row) return;
  if (outcome?.type === "task_completed" || (!outcome && !over && run.status === "completed"))
    report("wrong", `is a dead letter, but history has ${outcome?.type ?? "no result"}`);
  const most = spec?.retry?.attempts;
  const error = row.failures.at(-1);
  const used = error?.code === undefined && !row.canceled && most !== undefined;
  if (failed && row.attempt !== (outcome.meta?.attempt ?? 1))
    report("wrong", `died in attempt ${row.attempt}, but history says ${outcome.meta?.attempt ?? 1}`);
  if (used && (row.attempt !== most || row.failures.length !== most))
    report("wrong", `died with ${row.failures.length} failures in attempt ${row.attempt} of ${most}`);
}

// Counts --------------------------------------------------------------------------------------------------------------

function countsOf(scheduled: readonly Scheduled[], { lines, rows, recorded }: TaskEvidence): TaskCounts {
  const begun = lines.filter(({ phase, task }) => phase === "begin" && task !== undefined);
  const ended = new Set(
    lines.filter(({ event }) => event?.startsWith("attempt_")).map(({ task, epoch }) => `${task}/${epoch}`),
  );
  const cutOff = begun.filter(({ task, epoch, token = "" }) => !recorded.has(token) && !ended.has(`${task}/${epoch}`));
  return {
    scheduled: scheduled.length,
    finished: scheduled.filter(({ outcomes }) => outcomes.length > 0).length,
    executions: begun.length,
    cutOff: cutOff.length,
    deadLetters: rows.filter(({ status }) => status === "dead").length,
  };
}

export function addCounts(a: TaskCounts, b: TaskCounts): TaskCounts {
  return {
    scheduled: a.scheduled + b.scheduled,
    finished: a.finished + b.finished,
    executions: a.executions + b.executions,
    cutOff: a.cutOff + b.cutOff,
    deadLetters: a.deadLetters + b.deadLetters,
  };
}
