/**
 * One process of a pool: what it executes, and how that ends.
 *
 * Invariants
 *  P1. An execution is over when the process has answered, or has ended; never before. Until then its slot is taken.
 *  P2. An attempt that is aborted and does not end in time ends with its process.
 */
import { jsonCodec, payloadEncoding } from "../../codec/json-codec.ts";
import { fromErrorRecord, toErrorRecord } from "../../errors/error-record.ts";
import { HoldfastError } from "../../errors/holdfast-error.ts";
import type { Task } from "../../model/task.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { Codec } from "../../ports/codec.ts";
import type { Logger } from "../../ports/logger.ts";
import type { PoolReport, ProcessEvents, TaskProcess } from "../../ports/task-processes.ts";
import { LATER, type TaskAttempt, type TaskEnd } from "../tasks/task-attempt.ts";

/** How long an attempt may take to stop at its timeout. The next one begins after it: sooner than the store would end it. */
const STOP_MS = 500;
const LIMITS: ReadonlySet<unknown> = new Set(["task_timeout", "task_heartbeat_timeout"]);
/** A process that was asked to end, and has not. */
const LEAVE_MS = 2_000;

/** `retiring`: it gets no more tasks. */
export type ProcessState = "starting" | "ready" | "retiring" | "ended";

export interface PooledProcessParams {
  readonly clock: Clock;
  readonly log: Logger;
  readonly codec: Codec;
  /** The codec is the JSON codec: payloads need no translation. */
  readonly plain: boolean;
  readonly perProcess: number;
  readonly cancelGraceMs: number;
  readonly start: (events: ProcessEvents) => TaskProcess;
  /** Called once, with the names of its tasks. */
  readonly onReady: (process: PooledProcess, tasks: readonly string[]) => void;
  readonly onMeasured: (process: PooledProcess) => void;
  /** A slot is free again; `ms`: how long it was taken. */
  readonly onFree: (process: PooledProcess, ms: number) => void;
  readonly onEnded: (process: PooledProcess, ending: ProcessEnding) => void;
}

export interface ProcessEnding {
  /** How it ended, with what it said last, or why it was killed. */
  readonly why: string;
  readonly was: ProcessState;
  /** How many tasks have ended with it. */
  readonly tasks: number;
}

interface Execution {
  readonly id: number;
  readonly attempt: TaskAttempt;
  readonly sentAt: number;
  readonly over: () => void;
  timer: Timer | undefined;
}

export class PooledProcess {
  readonly startedAt: number;
  readonly #params: PooledProcessParams;
  readonly #process: TaskProcess;
  readonly #running = new Map<number, Execution>();
  #state: ProcessState = "starting";
  #executed = 0;
  #residentBytes: number | undefined;
  /** Why it is killed, and the attempt that does not stop, if that is why. */
  #killed: { readonly why: string; readonly attempt: TaskAttempt | undefined } | undefined;
  #lastWords: string | undefined;
  #timer: Timer | undefined;

  constructor(params: PooledProcessParams) {
    this.#params = params;
    this.startedAt = params.clock.now();
    this.#process = params.start({
      said: (report) => this.#hear(report),
      measured: (bytes) => {
        this.#residentBytes = bytes;
        params.onMeasured(this);
      },
      // It may have ended before there was an object to say so of.
      ended: (how) => params.clock.immediate(() => this.#end(how)),
    });
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  get state(): ProcessState {
    return this.#state;
  }

  get free(): number {
    return this.#state === "ready" && !this.#killed ? this.#params.perProcess - this.#running.size : 0;
  }

  get running(): number {
    return this.#running.size;
  }

  /** Tasks that it has begun. */
  get executed(): number {
    return this.#executed;
  }

  get residentBytes(): number | undefined {
    return this.#residentBytes;
  }

  get killed(): boolean {
    return this.#killed !== undefined;
  }

  /** `over` is called when it no longer executes the attempt. */
  run(attempt: TaskAttempt, over: () => void): void {
    let task: Task;
    try {
      task = this.#taskFor(attempt);
    } catch (error) {
      attempt.end({ ok: false, error, unread: true });
      return over();
    }
    this.#executed += 1;
    const execution: Execution = {
      id: this.#executed,
      attempt,
      sentAt: this.#params.clock.monotonic(),
      over,
      timer: undefined,
    };
    this.#running.set(execution.id, execution);
    this.#process.send({ type: "run", id: execution.id, task });
    if (attempt.signal.aborted) this.#abort(execution);
    else attempt.signal.addEventListener("abort", () => this.#abort(execution), { once: true });
  }

  /** It gets no more tasks, and ends when it has none. */
  retire(): void {
    if (this.#state === "ended") return;
    this.#state = "retiring";
    if (this.#running.size > 0 || this.#timer) return;
    this.#process.leave();
    this.#timer = this.#params.clock.setTimer(LEAVE_MS, () => this.#process.kill());
  }

  kill(why: string, attempt?: TaskAttempt): void {
    if (this.#state === "ended") return;
    this.#killed ??= { why, attempt };
    this.#process.kill();
  }

  /** In the child every payload is JSON, and nothing but this process watches over limits. */
  #taskFor({ task, trace }: TaskAttempt): Task {
    const { plain, codec } = this.#params;
    const json = (payload: Task["input"]): Task["input"] =>
      payload === null || payload.length === 0 || (plain && payloadEncoding(payload) === "json")
        ? payload
        : jsonCodec.encode(codec.decode(payload), `what task "${task.op}" gets`);
    // The limits are watched over here.
    const spec = trace === undefined ? null : { name: task.name, trace };
    return { ...task, input: json(task.input), details: json(task.details), spec, failures: [] };
  }

  // What it says ------------------------------------------------------------------------------------------------------

  #hear(report: PoolReport): void {
    if (report.type === "ready") {
      if (this.#state !== "starting") return;
      this.#state = "ready";
      this.#residentBytes = report.residentBytes;
      return this.#params.onReady(this, report.tasks);
    }
    if (report.type === "log") return this.#params.log[report.level](report.fields, report.message);
    if (report.type === "unusable" || report.type === "uncaught") {
      this.#lastWords = `${report.error.name}: ${report.error.message}`;
      return;
    }
    const execution = this.#running.get(report.id);
    if (!execution) return;
    if (report.type === "beat") return void this.#beat(execution, report);
    this.#finish(execution, this.#endOf(report));
  }

  #endOf(report: Extract<PoolReport, { type: "done" | "failed" }>): TaskEnd {
    if (report.type === "failed") {
      const { error, retry, retryAfterMs, final } = report;
      const verdict = { retryIf: () => retry, retryAfterMs, final };
      return { ok: false, error: fromErrorRecord(error), verdict };
    }
    if (report.payload === null) return { ok: true, value: LATER };
    if (this.#params.plain) return { ok: true, payload: report.payload };
    return { ok: true, value: jsonCodec.decode(report.payload), checked: true };
  }

  async #beat({ id, attempt }: Execution, { beat, details }: Extract<PoolReport, { type: "beat" }>): Promise<void> {
    if (details === null) await attempt.heartbeat();
    else if (this.#params.plain) await attempt.beat(details);
    else await attempt.heartbeat(jsonCodec.decode(details));
    this.#process.send({ type: "heard", id, beat });
  }

  // Ends --------------------------------------------------------------------------------------------------------------

  #finish(execution: Execution, end: TaskEnd): void {
    const { id, attempt, sentAt, over, timer } = execution;
    timer?.cancel();
    this.#running.delete(id);
    attempt.end(end);
    over();
    this.#params.onFree(this, this.#params.clock.monotonic() - sentAt);
    if (this.#state === "retiring") this.retire();
  }

  /** It may take some time to stop. */
  #abort(execution: Execution): void {
    const { id, attempt } = execution;
    if (!this.#running.has(id)) return;
    const { clock, cancelGraceMs } = this.#params;
    const { reason } = attempt.signal;
    this.#process.send({ type: "abort", id, reason: toErrorRecord(reason) });
    const graceMs = LIMITS.has(reason?.code) ? STOP_MS : cancelGraceMs;
    execution.timer = clock.setTimer(graceMs, () =>
      this.kill(`task "${attempt.task.op}" was aborted and did not stop`, attempt),
    );
  }

  #end(how: string): void {
    const was = this.#state;
    if (was === "ended") return;
    this.#state = "ended";
    this.#timer?.cancel();
    const words = this.#killed ? ["was killed", this.#killed.why] : [how, this.#lastWords];
    const why = words.filter(Boolean).join(": ");
    const executions = [...this.#running.values()];
    this.#running.clear();
    for (const execution of executions) {
      execution.timer?.cancel();
      execution.attempt.end(this.#deathOf(execution.attempt, executions.length === 1, why));
      execution.over();
    }
    this.#params.onEnded(this, { why, was, tasks: executions.length });
  }

  #deathOf(attempt: TaskAttempt, alone: boolean, why: string): TaskEnd {
    if (attempt.signal.aborted) return { ok: false, error: attempt.signal.reason, unknown: true };
    const culprit = this.#killed?.attempt;
    const message = `Its process (${this.pid ?? "not started"}) ${why}`;
    return { ok: false, died: { begun: true, alone, innocent: culprit !== undefined, message } };
  }
}

export function poolFailed(message: string): HoldfastError {
  return new HoldfastError("task_pool_failed", message);
}
