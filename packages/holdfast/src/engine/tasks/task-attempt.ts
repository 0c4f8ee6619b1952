import { expiryError } from "../../calls/task-judgment.ts";
import { toErrorRecord } from "../../errors/error-record.ts";
import { HoldfastError } from "../../errors/holdfast-error.ts";
import type { RetryIf } from "../../errors/retry-rule.ts";
import { idempotencyKey } from "../../model/ids.ts";
import type { Payload } from "../../model/payload.ts";
import type { Task } from "../../model/task.ts";
import { writeToken } from "../../model/task-token.ts";
import { type TraceHeaders, traceHeaders } from "../../model/trace-context.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { Codec } from "../../ports/codec.ts";
import type { Logger, RunLogger } from "../../ports/logger.ts";
import type { Span, Telemetry } from "../../ports/telemetry.ts";
import { runLogger } from "../../replay/context/run-logger.ts";
import type { TaskFunction, TaskInfo } from "../../replay/ops/task-options.ts";

export type TaskEnd =
  /** `checked`: the output schema has seen it. */
  | { readonly ok: true; readonly value: unknown; readonly checked?: true }
  /** Checked and encoded in a process of the pool. */
  | { readonly ok: true; readonly payload: Payload }
  | FailedEnd
  | { readonly ok: false; readonly died: DeathInPool };

export interface FailedEnd {
  readonly ok: false;
  readonly error: unknown;
  readonly unknown?: boolean;
  /** The function was not called: what it should get cannot be read. */
  readonly unread?: true;
  /** What the process of the pool says of it, where the error was thrown. */
  readonly verdict?: {
    readonly retryIf: RetryIf;
    readonly retryAfterMs: number | undefined;
    readonly final: boolean;
  };
}

/** The process that executed it is no more. */
export interface DeathInPool {
  /** It was executing the attempt. */
  readonly begun: boolean;
  /** It executed nothing else. */
  readonly alone: boolean;
  /** The process was killed because of another task. */
  readonly innocent: boolean;
  readonly message: string;
}

/** What a function returns that leaves its attempt open. */
export const LATER = Symbol("completed later");

export interface TaskAttemptHost {
  readonly clock: Clock;
  readonly codec: Codec;
  readonly log: Logger;
  readonly telemetry?: Telemetry | undefined;
  /** Applied to every text of an error that is reported. */
  readonly redact?: ((text: string) => string) | undefined;
}

/** Whoever started the attempt: learns of its end once, unless it was discarded, and of its heartbeats. */
export interface TaskAttemptOwner {
  ended(attempt: TaskAttempt, end: TaskEnd): void;
  heard(attempt: TaskAttempt, details: Payload | null): Promise<void>;
}

/** One execution of a task's function: abortable, with its time limits, reported exactly once. */
export class TaskAttempt implements TaskInfo {
  readonly task: Task;
  readonly startedAt: number;
  readonly #host: TaskAttemptHost;
  readonly #owner: TaskAttemptOwner;
  #controller: AbortController | undefined;
  #abortReason: unknown;
  #aborted = false;
  #timer: Timer | undefined;
  #silence: Timer | undefined;
  #over = false;
  #span: Span | undefined;

  constructor(task: Task, host: TaskAttemptHost, owner: TaskAttemptOwner) {
    this.task = task;
    this.#host = host;
    this.#owner = owner;
    this.startedAt = host.clock.monotonic();
  }

  get attempt(): number {
    return this.task.attempt;
  }

  get runId(): string {
    return this.task.runId;
  }

  /** Created on demand: most tasks never use it. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  get abortSignal(): AbortSignal {
    return this.signal;
  }

  get idempotencyKey(): string {
    return idempotencyKey(this.task.runId, this.task.op);
  }

  get token(): string {
    return writeToken(this.task);
  }

  get lastDetails(): unknown {
    const { details } = this.task;
    return details === null ? undefined : this.#host.codec.decode(details);
  }

  get log(): RunLogger {
    const { namespace, runId, op, name, attempt } = this.task;
    return runLogger({ log: this.#host.log, about: { namespace, runId, op, task: name, attempt } });
  }

  /** The trace context of the attempt, or else that of its run. */
  get trace(): string | undefined {
    return this.#span?.context?.() ?? this.task.spec?.trace;
  }

  get traceHeaders(): TraceHeaders {
    return traceHeaders(this.trace);
  }

  /** How long it has been running, in whole milliseconds. */
  get ms(): number {
    return Math.floor(this.#host.clock.monotonic() - this.startedAt);
  }

  get over(): boolean {
    return this.#over;
  }

  run(fn: TaskFunction<never, unknown>): void {
    this.begin();
    void holdfastTaskFrame(fn, this, this.#host.codec);
  }

  /** Its limits begin to run; someone else calls the function. */
  begin(): void {
    const { spec } = this.task;
    this.#span = this.#beginSpan();
    if (spec?.timeoutMs !== undefined)
      this.#timer = this.#host.clock.setTimer(spec.timeoutMs, () => this.#expire("timeout"));
    this.#restartSilence();
  }

  #beginSpan(): Span | undefined {
    const { telemetry } = this.#host;
    if (!telemetry?.span) return undefined;
    const { namespace, runId, op, name: task, queue, attempt, spec } = this.task;
    const trace = spec?.trace === undefined ? {} : { trace: spec.trace };
    return telemetry.span({ kind: "task", namespace, runId, op, task, queue, attempt, ...trace });
  }

  #endSpan(outcome: string, error: unknown): void {
    if (!this.#span) return;
    const { redact } = this.#host;
    this.#span.end(outcome, error === undefined ? undefined : toErrorRecord(error, redact ? { redact } : {}));
  }

  /** Calls the function inside of its span: what it does is part of that. */
  within<T>(call: () => T): T {
    return this.#span?.within ? this.#span.within(call) : call();
  }

  /** May be taken off the object. */
  get heartbeat(): (details?: unknown) => Promise<void> {
    return (details) => this.#encodeAndBeat(details);
  }

  async #encodeAndBeat(details: unknown): Promise<void> {
    if (this.#over) return;
    let payload: Payload | null = null;
    try {
      payload = details === undefined ? null : this.#host.codec.encode(details, `details of task "${this.task.op}"`);
    } catch (error) {
      this.log.warn({ error: String(error) }, "the details of a heartbeat cannot be stored; they are left out");
    }
    await this.beat(payload);
  }

  /** A heartbeat whose details are encoded. */
  async beat(details: Payload | null): Promise<void> {
    if (this.#over) return;
    this.#restartSilence();
    await this.#owner.heard(this, details);
  }

  completeLater(): never {
    return LATER as never;
  }

  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#abortReason = reason;
    this.#controller?.abort(reason);
  }

  /** Reports the end, unless one was reported before. */
  end(end: TaskEnd): void {
    if (this.#over) return;
    this.#close();
    this.#endSpan(end.ok ? "completed" : "failed", end.ok ? undefined : "error" in end ? end.error : end.died.message);
    this.#owner.ended(this, end);
  }

  /** The result is no longer wanted. */
  discard(reason: unknown): void {
    if (!this.#over) this.#endSpan("discarded", reason);
    this.#close();
    this.abort(reason);
  }

  #close(): void {
    this.#over = true;
    this.#timer?.cancel();
    this.#silence?.cancel();
  }

  #restartSilence(): void {
    const ms = this.task.spec?.heartbeatMs;
    if (ms === undefined) return;
    this.#silence?.cancel();
    this.#silence = this.#host.clock.setTimer(ms, () => this.#expire("heartbeat"));
  }

  /** The function may still take effect. */
  #expire(limit: "timeout" | "heartbeat"): void {
    const error = expiryError(this.task, limit);
    this.abort(error);
    this.end({ ok: false, error, unknown: true });
  }
}

// The name of this function shows in asynchronous stacks.
async function holdfastTaskFrame(fn: TaskFunction<never, unknown>, attempt: TaskAttempt, codec: Codec): Promise<void> {
  const { input, details } = attempt.task;
  let value: unknown;
  try {
    value = input === null || input.length === 0 ? undefined : codec.decode(input);
    // The function may ask for them, and must not fail for a key that only this worker lacks.
    if (details !== null) codec.decode(details);
  } catch (error) {
    return attempt.end({ ok: false, error, unread: true });
  }
  let end: TaskEnd;
  try {
    end = { ok: true, value: await attempt.within(() => fn(value as never, attempt)) };
  } catch (error) {
    end = { ok: false, error };
  }
  attempt.end(end);
}

/** Nobody may begin it again: the run learns what became of it. */
export function stoppedError(workerName: string, { op, attempt }: Task): HoldfastError {
  const message = `Worker "${workerName}" was stopped during attempt ${attempt} of task "${op}"; whether it took effect is unknown.`;
  return new HoldfastError("task_crashed", message);
}

export function leftWorker(workerName: string): HoldfastError {
  return new HoldfastError("lease_lost", `Worker "${workerName}" no longer holds this task.`);
}

export function canceledError({ op }: Task): HoldfastError {
  return new HoldfastError("task_canceled", `The run no longer wants the result of task "${op}".`);
}
