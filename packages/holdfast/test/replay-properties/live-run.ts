/**
 * One run on a machine of its own. It plays the part of the run executor: it queues what happens to the run, delivers it
 * one event a turn, and keeps what is recorded. What happens, and in which order, is the script's decision.
 *
 * Where history may end. A commit is gathered between turns only (committer C4) and takes everything that is fresh, so what a
 * store holds ends behind the last command of a turn, or behind a note (which is written between turns), never between the
 * event of a turn and its commands. Those places are the cuts.
 */

import { jsonCodec } from "../../src/codec/json-codec.ts";
import { classifyError } from "../../src/errors/classify.ts";
import { toErrorRecord } from "../../src/errors/error-record.ts";
import { HoldfastError } from "../../src/errors/holdfast-error.ts";
import { shouldRetry } from "../../src/errors/retry-rule.ts";
import { type EventDraft, eventRole, type HistoryEvent } from "../../src/model/event.ts";
import { idempotencyKey } from "../../src/model/ids.ts";
import { backoffMs } from "../../src/model/retry-policy.ts";
import { silentLogger } from "../../src/ports/logger.ts";
import type { Op } from "../../src/replay/op.ts";
import type { StepFunction } from "../../src/replay/ops/step-options.ts";
import type { StepWork } from "../../src/replay/ops/step-work.ts";
import type { WorkflowBody } from "../../src/replay/run-code.ts";
import { RunMachine } from "../../src/replay/run-machine.ts";
import { TurnLoop, type TurnTaker } from "../../src/replay/turn-loop.ts";
import { immediate } from "./immediate.ts";
import { RUN, START_MS } from "./run-row.ts";
import { type Snapshot, snapshotOf } from "./snapshot.ts";

const NEVER_ABORTED = new AbortController().signal;

/** What happens to the run, decided whenever it has come to rest. */
export interface Script {
  /** Makes something happen, by the methods of the run; false when nothing more will. */
  next(run: LiveRun): boolean;
  /** Where it stands, so that another script can go on from there. */
  readonly position: number;
}

/** A place at which a crash may have cut history off, and what was true there. */
export interface Cut {
  readonly snapshot: Snapshot;
  /** Nothing was queued: all that had happened is in history. */
  readonly resting: boolean;
  readonly now: number;
  readonly messages: number;
  /** How many lines had been written to the logger. */
  readonly lines: number;
  readonly position: number;
}

export interface LiveRunParams {
  readonly body: WorkflowBody;
  /** What the code has observed, in order; part of every snapshot. */
  readonly log: readonly string[];
  readonly script: Script;
  /** A history to replay before anything happens, and the cut at which it ends. */
  readonly history?: readonly HistoryEvent[];
  readonly from?: Cut;
  /** Shared with other runs whose turns are taken in the same ticks, as on a worker; its own unless given. */
  readonly loop?: TurnLoop;
  /** Called at the end of every turn that was replayed. */
  readonly onReplayedTurn?: (snapshot: Snapshot) => void;
}

/**
 * `lines` takes what the code writes to its logger: a line that was written live is not written again on replay. `begun`: the
 * first turn was finished before.
 */
export function newMachine(
  body: WorkflowBody,
  history: readonly HistoryEvent[],
  lines: string[] = [],
  begun = false,
): RunMachine {
  const log = { ...silentLogger, info: (_: object, line: string) => void lines.push(line) };
  return new RunMachine({ run: RUN, codec: jsonCodec, log, history, begun, opsMax: 10_000 }, { body });
}

export class LiveRun implements TurnTaker {
  inLine = false;
  readonly machine: RunMachine;
  readonly history: HistoryEvent[];
  readonly cuts: Cut[] = [];
  readonly log: readonly string[];
  readonly lines: string[] = [];
  now: number;
  readonly #params: LiveRunParams;
  readonly #loop: TurnLoop;
  readonly #queue: EventDraft[] = [];
  #messages: number;
  #turnIsReplayed = false;
  #done: (() => void) | undefined;
  #fail: ((error: unknown) => void) | undefined;

  constructor(params: LiveRunParams) {
    this.#params = params;
    this.log = params.log;
    this.#loop = params.loop ?? new TurnLoop(immediate);
    this.history = [...(params.history ?? [])];
    this.machine = newMachine(params.body, params.history ?? [], this.lines);
    this.now = params.from?.now ?? START_MS;
    this.#messages = params.from?.messages ?? 0;
  }

  /** Runs until the script has nothing more to say. */
  async play(): Promise<this> {
    await new Promise<void>((resolve, reject) => {
      this.#done = resolve;
      this.#fail = reject;
      this.#loop.ready(this);
    });
    return this;
  }

  // What may happen ---------------------------------------------------------------------------------------------------

  /** Steps that could run now, those included that are only waited for because they may have to be undone. */
  steps(): Op[] {
    return this.machine.ops.pending().filter((op) => op.kind === "step" && !this.#isQueued(op));
  }

  op(id: string): Op {
    const op = this.machine.ops.get(id);
    if (!op) throw new Error(`"${id}" is not pending; pending are: ${this.pendingIds().join(", ")}`);
    return op;
  }

  pendingIds(): string[] {
    return this.machine.ops.pending().map((op) => op.id);
  }

  complete(id: string, value?: unknown): void {
    this.#noteStart(this.op(id));
    this.#push({ type: "step_completed", op: id, payload: jsonCodec.encode(value, id) });
  }

  fail(id: string, error: Error = new Error(`${id} failed`)): void {
    const op = this.op(id);
    this.#noteStart(op);
    this.#failStep(op, (op.step as StepWork).failedAttempts + 1, error, false);
  }

  /** Executes the step's function, and queues what came of it as the step board would. */
  execute(op: Op): void {
    const work = op.step as StepWork;
    const attempt = work.failedAttempts + 1;
    this.now = Math.max(this.now, work.retryAt ?? 0);
    this.#noteStart(op);
    const fn = work.fn as StepFunction<unknown>;
    try {
      const value = fn({
        attempt,
        signal: NEVER_ABORTED,
        idempotencyKey: idempotencyKey(this.machine.run.runId, op.id),
        log: silentLogger,
        traceHeaders: {},
        start: () => Promise.reject(new Error("these programs start no runs")),
      });
      const event: EventDraft = { type: "step_completed", op: op.id, payload: jsonCodec.encode(value, op.id) };
      this.#push(attempt === 1 ? event : { ...event, meta: { attempt } });
    } catch (error) {
      this.#failAttempt(op, attempt, error);
    }
  }

  /** A crash cut the attempt off, and nobody knows whether it took effect; false if history need not know that it began. */
  cutOff(op: Op): boolean {
    const { options, startedAttempt, failedAttempts } = op.step as StepWork;
    if (!options.recordStart && startedAttempt <= failedAttempts) return false;
    this.#noteStart(op);
    const error = new HoldfastError("step_crashed", `"${op.id}" was cut off.`);
    this.#failStep(op, failedAttempts + 1, error, true);
    return true;
  }

  /** Writes down that the next attempt has started; false when that is in history already. */
  noteStart(op: Op): boolean {
    const { startedAttempt, failedAttempts } = op.step as StepWork;
    if (startedAttempt > failedAttempts) return false;
    const attempt = failedAttempts + 1;
    this.#push({ type: "step_started", op: op.id, ...(attempt === 1 ? {} : { meta: { attempt } }) });
    return true;
  }

  /** When time alone makes the next thing happen. */
  nextTimerAt(): number | undefined {
    let earliest: number | undefined;
    for (const op of this.machine.ops.timers)
      if (!this.#isQueued(op)) earliest = Math.min(earliest ?? Number.POSITIVE_INFINITY, op.fireAt as number);
    return earliest;
  }

  /** Time passes; timers that have become due are queued, the earliest first. */
  advanceTo(time: number): void {
    this.now = Math.max(this.now, time);
    const due = [...this.machine.ops.timers].filter((op) => (op.fireAt as number) <= this.now && !this.#isQueued(op));
    due.sort((a, b) => (a.fireAt as number) - (b.fireAt as number));
    for (const op of due) this.#push({ type: "timer_fired", op: op.id });
  }

  signal(name: string, payload: unknown): void {
    const meta = { messageId: `m${++this.#messages}` };
    const event: EventDraft = { type: "signal_received", op: name, meta };
    this.#push(payload === undefined ? event : { ...event, payload: jsonCodec.encode(payload, name) });
  }

  cancel(reason: string): void {
    this.#push({ type: "cancel_requested", op: null, meta: { messageId: `m${++this.#messages}`, reason } });
  }

  reachDeadline(): void {
    if (this.machine.cancelCause === undefined) this.#push({ type: "deadline_reached", op: null });
  }

  // Turns -------------------------------------------------------------------------------------------------------------

  openTurn(): boolean {
    try {
      return this.#open();
    } catch (error) {
      this.#fail?.(error);
      return false;
    }
  }

  closeTurn(): boolean {
    try {
      if (this.machine.runOn()) return true;
      this.machine.close();
      if (this.#turnIsReplayed) this.#params.onReplayedTurn?.(snapshotOf(this.machine, this.log));
      this.#rest();
    } catch (error) {
      this.#fail?.(error);
    }
    return false;
  }

  #open(): boolean {
    const { machine } = this;
    this.#turnIsReplayed = true;
    if (!machine.started) {
      this.#turnIsReplayed = this.#params.from !== undefined;
      machine.start();
      return true;
    }
    if (machine.replaying && machine.replayNext()) return true;
    this.#turnIsReplayed = false;
    while (!machine.divergence) {
      const draft = this.#queue.shift();
      if (!draft) break;
      if (eventRole(draft.type) === "note") machine.note(draft, this.now);
      else if (machine.deliverLive(draft, this.now)) return true;
    }
    this.#rest();
    return false;
  }

  #rest(): void {
    const { machine } = this;
    this.history.push(...machine.takeFresh());
    if (machine.divergence || machine.violation) return this.#done?.();
    if (machine.replaying) return this.#loop.ready(this);
    const { script } = this.#params;
    const resting = this.#queue.length === 0;
    this.#cut(resting, script.position);
    if (!resting || script.next(this)) this.#loop.ready(this);
    else this.#done?.();
  }

  #cut(resting: boolean, position: number): void {
    const snapshot = snapshotOf(this.machine, this.log);
    // What happened may have left no trace: then the newest knowledge about the place is kept.
    if (this.cuts.at(-1)?.snapshot.seq === snapshot.seq) this.cuts.pop();
    const lines = this.lines.length;
    this.cuts.push({ snapshot, resting, now: this.now, messages: this.#messages, lines, position });
  }

  // Inside --------------------------------------------------------------------------------------------------------------

  #push(draft: EventDraft): void {
    this.#queue.push(draft);
  }

  #isQueued(op: Op): boolean {
    return this.#queue.some((draft) => draft.op === op.id && draft.type !== "signal_received");
  }

  #noteStart(op: Op): void {
    if (op.step?.options.recordStart) this.noteStart(op);
  }

  #failAttempt(op: Op, attempt: number, error: unknown): void {
    const work = op.step as StepWork;
    const { retry, retryIf } = work.options;
    const { kind } = classifyError(error);
    if (work.closing || attempt >= retry.attempts || !shouldRetry(retryIf, error, { kind, attempt }))
      return this.#failStep(op, attempt, error, false);
    const retryAt = this.now + backoffMs(retry, attempt, () => 0.5);
    this.#push({
      type: "step_attempt_failed",
      op: op.id,
      meta: { attempt, error: toErrorRecord(error, { kind }), retryAt },
    });
  }

  #failStep(op: Op, attempt: number, error: unknown, unknown: boolean): void {
    const record = toErrorRecord(error, { attempts: attempt, op: op.id });
    const meta = { attempt, error: record, ...(unknown ? { unknown } : {}) };
    this.#push({ type: "step_failed", op: op.id, meta });
  }
}
