import { classifyError } from "../../errors/classify.ts";
import { HoldfastError } from "../../errors/holdfast-error.ts";
import type { RunName } from "../../model/child.ts";
import { formatDuration } from "../../model/duration.ts";
import type { ErrorRecord } from "../../model/error-record.ts";
import { idempotencyKey } from "../../model/ids.ts";
import { isPromiseLike } from "../../model/promise-like.ts";
import type { Run } from "../../model/run.ts";
import { traceOf } from "../../model/run-seed.ts";
import { type TraceHeaders, traceHeaders } from "../../model/trace-context.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { Logger, RunLogger } from "../../ports/logger.ts";
import type { StepInterceptor } from "../../ports/step-interceptor.ts";
import type { Span, Telemetry } from "../../ports/telemetry.ts";
import { runLogger } from "../../replay/context/run-logger.ts";
import type { DrivenOp } from "../../replay/op.ts";
import type { ChildDefinition, StepStartOptions } from "../../replay/ops/start-options.ts";
import type { StepFunction, StepInfo } from "../../replay/ops/step-options.ts";
import type { StepWork } from "../../replay/ops/step-work.ts";
import { aboutRun, stepName } from "../../report/failure-lines.ts";
import { type StartingHost, startInStep } from "../children/start-in-step.ts";
import type { Stretches } from "../execute/stretches.ts";

/** So many of the runs that an attempt has started are named in its event; `list({ parent })` has them all. */
const RUNS_NAMED_MAX = 20;

export type AttemptResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: unknown };

export interface AttemptHost extends StartingHost {
  readonly clock: Clock;
  readonly log: Logger;
  readonly steps: StepInterceptor | undefined;
  readonly telemetry: Telemetry | undefined;
  readonly stretches: Stretches | undefined;
  /** An error as history stores it. */
  readonly record: (error: unknown) => ErrorRecord;
}

/** The starter of an attempt, which is notified of its result once, unless the attempt was discarded. */
export interface AttemptOwner {
  noteStarted(attempt: Attempt): void;
  done(attempt: Attempt, result: AttemptResult): void;
}

/** One execution of a step's function: abortable, with a time limit, reported exactly once. */
export class Attempt implements StepInfo {
  op: DrivenOp;
  readonly attempt: number;
  readonly startedAt: number;
  /** Whether history says that it has started. */
  recorded = false;
  /** Whether the step's function has been called. */
  called = true;
  /** Its index among the run's attempts in progress; -1 if it is not one of them. */
  place = -1;
  /** Its neighbors in the list of the watch, for that alone. */
  before: Attempt | undefined;
  after: Attempt | undefined;
  readonly #owner: AttemptOwner;
  readonly #run: Run;
  readonly #host: AttemptHost;
  #controller: AbortController | undefined;
  #abortReason: unknown;
  #aborted = false;
  #timer: Timer | undefined;
  #span: Span | undefined;
  #reported = false;
  #starts = 0;
  #runs: RunName[] | undefined;

  constructor(op: DrivenOp, run: Run, host: AttemptHost, owner: AttemptOwner) {
    const work = op.step as StepWork;
    this.op = op;
    this.attempt = work.failedAttempts + 1;
    this.#run = run;
    this.#host = host;
    this.startedAt = host.clock.monotonic();
    this.#owner = owner;
  }

  /** The code's last turns are repeated and ask for the same op. */
  moveTo(op: DrivenOp): void {
    this.op = op;
  }

  get idempotencyKey(): string {
    return idempotencyKey(this.#run.runId, this.op.id);
  }

  /** Whether its result is still to come. */
  get open(): boolean {
    return !this.#reported;
  }

  /** How long it has been running, in whole milliseconds. */
  get ms(): number {
    return Math.floor(this.#host.clock.monotonic() - this.startedAt);
  }

  /** Lines carry the run, the op and the attempt. Created on demand: most steps never log. */
  get log(): RunLogger {
    const about = { ...aboutRun(this.#run), op: this.op.id, attempt: this.attempt };
    return runLogger({ log: this.#host.log, about });
  }

  get traceHeaders(): TraceHeaders {
    return traceHeaders(this.#span?.context?.() ?? traceOf(this.#run.seed));
  }

  async start(definition: ChildDefinition, ...rest: readonly unknown[]): Promise<RunName> {
    const [input, options] = rest as [unknown?, StepStartOptions?];
    this.#starts += 1;
    const which = { run: this.#run, op: this.op.id, number: this.#starts };
    const started = await startInStep(this.#host, which, definition, input, options);
    this.#runs ??= [];
    if (this.#runs.length < RUNS_NAMED_MAX) this.#runs.push(started);
    return started;
  }

  /** For the event that says how it ended: the runs that it has started, if any. */
  get about(): { readonly runs?: readonly RunName[] } | undefined {
    return this.#runs && { runs: [...this.#runs] };
  }

  /** Created on demand: most steps never use it. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  /** It takes long: history must say that it has started. */
  noteStarted(): void {
    this.#owner.noteStarted(this);
  }

  run(fn: StepFunction<unknown>): void {
    const { options } = this.op.step as StepWork;
    if (options.timeoutMs !== undefined)
      this.limit(options.timeoutMs, () => this.#timeOut(options.timeoutMs as number));
    const { stretches, steps } = this.#host;
    const called = steps ? () => steps.around(this.#about(), () => holdfastStepFrameInside(fn, this)) : fn;
    this.#span = stretches?.step(this.#run, this.op.id, this.attempt);
    holdfastStepFrame(this.#span ? inSpan(this.#span, called) : called, this);
  }

  #about(): { runId: string; workflow: string; op: string; attempt: number } {
    const { runId, workflow } = this.#run;
    return { runId, workflow, op: this.op.id, attempt: this.attempt };
  }

  /** Replaces the time limit; an attempt that is over has none. */
  limit(ms: number, onLimit: () => void): void {
    if (this.#reported) return;
    this.#timer?.cancel();
    this.#timer = this.#host.clock.setTimer(ms, onLimit);
  }

  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#abortReason = reason;
    this.#controller?.abort(reason);
  }

  /** Reports the result, unless one was reported before. */
  finish(result: AttemptResult): void {
    this.#timer?.cancel();
    if (this.#reported) return;
    this.#reported = true;
    this.#report(result);
    this.#owner.done(this, result);
  }

  #report(result: AttemptResult): void {
    const { telemetry, clock } = this.#host;
    if (!telemetry) return;
    const outcome = result.ok ? "completed" : "failed";
    this.#span?.end(outcome, result.ok ? undefined : this.#host.record(result.error));
    // Without the occurrence, so that a loop does not create a label for each iteration.
    const step = stepName(this.op.id);
    const { workflow } = this.#run;
    const labels = { workflow, step, outcome };
    telemetry.count("step_attempts", 1, labels);
    telemetry.duration("step_attempt", clock.monotonic() - this.startedAt, labels);
    if (this.attempt > 1) telemetry.count("step_retries", 1, { workflow, step });
    if (!result.ok) telemetry.count("step_failures", 1, { workflow, step, kind: classifyError(result.error).kind });
  }

  /** The result is no longer wanted. */
  discard(reason: unknown): void {
    if (!this.#reported) this.#span?.end("discarded", this.#host.record(reason));
    this.#reported = true;
    this.#timer?.cancel();
    this.abort(reason);
  }

  #timeOut(timeoutMs: number): void {
    const error = new HoldfastError(
      "step_timeout",
      `Attempt ${this.attempt} of step "${this.op.id}" took longer than ${formatDuration(timeoutMs)}.`,
      { kind: "Timeout" },
    );
    this.abort(error);
    // A transaction always reports whether it committed.
    if (!(this.op.step as StepWork).transaction) this.finish({ ok: false, error });
  }
}

/** What the span puts around the function ends with it: what follows from its result is no part of the step. */
function inSpan(span: Span, fn: StepFunction<unknown>): StepFunction<unknown> {
  return (info) => (span.within ? span.within(() => fn(info)) : fn(info));
}

// The names of these functions show in asynchronous stacks; see calledInsideStep.
function holdfastStepFrame(fn: StepFunction<unknown>, attempt: Attempt): void {
  let result: AttemptResult;
  try {
    const value = fn(attempt);
    if (isPromiseLike(value)) return void holdfastStepFrameAsync(value, attempt);
    result = { ok: true, value };
  } catch (error) {
    result = { ok: false, error };
  }
  attempt.finish(result);
}

async function holdfastStepFrameAsync(promise: PromiseLike<unknown>, attempt: Attempt): Promise<void> {
  let result: AttemptResult;
  try {
    result = { ok: true, value: await promise };
  } catch (error) {
    result = { ok: false, error };
  }
  attempt.finish(result);
}

async function holdfastStepFrameInside(fn: StepFunction<unknown>, info: StepInfo): Promise<unknown> {
  return await fn(info);
}
