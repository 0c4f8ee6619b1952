/**
 * The steps of one live run: requested, running, or waiting for their next attempt. It starts attempts, turns their results
 * into events, and stops those that are no longer wanted.
 */
import { classifyError } from "../../errors/classify.ts";
import { HoldfastError, isHoldfastError } from "../../errors/holdfast-error.ts";
import { shouldRetry } from "../../errors/retry-rule.ts";
import type { ErrorRecord } from "../../model/error-record.ts";
import type { EventDraft, EventMeta } from "../../model/event.ts";
import type { LiveStep } from "../../model/live-run.ts";
import type { Message } from "../../model/message.ts";
import type { Payload } from "../../model/payload.ts";
import { mayTryAgain, tryAgainInMs } from "../../model/retry-policy.ts";
import { appended, NONE } from "../../model/short-list.ts";
import type { Machine } from "../../replay/machine.ts";
import type { DrivenOp } from "../../replay/op.ts";
import type { StepWork, TransactionWork } from "../../replay/ops/step-work.ts";
import { writeBrokenRule, writeFailedAttempt } from "../../report/failure-lines.ts";
import type { DeliveryQueue } from "../execute/delivery-queue.ts";
import type { ExecutorHost } from "../execute/executor-host.ts";
import type { HeldRun } from "../execute/held-run.ts";
import { attemptMeta } from "../execute/message-draft.ts";
import { Attempt, type AttemptOwner, type AttemptResult } from "./attempt.ts";
import { holdOf, LOST, RecordedOutcome, runTransaction } from "./transaction.ts";

/** The live run that these steps belong to. */
export interface StepOwner extends HeldRun {
  /** Something has happened that must be delivered. */
  push(draft: EventDraft): void;
  /** Whether everything that the code had seen when it asked for the op is durable. */
  mayUse(op: DrivenOp): boolean;
  hasConsumed(message: Message): boolean;
  /** No new attempt may start here. */
  yielding(): boolean;
  /** Another worker holds the run now. */
  drop(): void;
}

/** What is known of a step that has failed for good. */
interface FailureFacts {
  readonly unknown?: boolean;
  readonly neverBegan?: boolean;
  readonly ms?: number;
  readonly runs?: EventMeta["runs"];
}

/** Lists, not sets: most runs have one step at a time, and a set that goes from empty to one entry and back is slow. */
export class StepBoard implements AttemptOwner {
  /** Steps that were asked for and are not running: new, gated, or in backoff. Those that are not pending do not count. */
  idle: readonly DrivenOp[] = NONE;
  #attempts: Attempt[] = [];
  readonly #host: ExecutorHost;
  #machine: Machine;
  readonly #run: StepOwner;
  readonly #queue: Pick<DeliveryQueue, "mayTakeBack">;
  /** Attempts that ended after the code had stopped waiting for them, while that can still be taken back. */
  #late: readonly { readonly attempt: Attempt; readonly result: AttemptResult }[] = NONE;
  /** Ops of the discarded machine whose attempts are about to start here; undefined once all are taken over. */
  #former: readonly DrivenOp[] | undefined;
  /** Those of them that had never begun, although the start of one of their attempts was recorded. */
  #unbegun: ReadonlySet<string> | undefined;

  constructor(host: ExecutorHost, machine: Machine, run: StepOwner, queue: Pick<DeliveryQueue, "mayTakeBack">) {
    this.#host = host;
    this.#machine = machine;
    this.#run = run;
    this.#queue = queue;
  }

  get running(): number {
    return this.#attempts.length;
  }

  /** Whether only its gate, the lease or a drain keeps a step from starting now. */
  hasStartable(): boolean {
    for (const op of this.idle) if (op.pending && isDue(op, this.#host)) return true;
    return false;
  }

  /** Whether history says that an attempt has started which is about to start here. */
  hasPrepared(): boolean {
    for (const op of this.idle) if (op.pending && (op.step as StepWork).prepared) return true;
    return false;
  }

  /** Whether something is under way that the code may have stopped waiting for. */
  get busy(): boolean {
    return this.running > 0 || this.hasPrepared();
  }

  /** Whether a step that is not running is still to be wound up. */
  hasClosing(): boolean {
    for (const op of this.idle) if (op.pending && op.step?.closing) return true;
    return false;
  }

  /** The attempts in progress, for display. */
  underWay(): readonly LiveStep[] {
    const now = this.#host.storeTime.now();
    return this.#attempts.map(({ op, attempt, ms }) => ({ op: op.id, attempt, startedAt: now - ms }));
  }

  /**
   * The run is about to be wound up: running attempts are recorded first, because nothing else would show them afterwards.
   */
  noteUnderWay(): void {
    if (this.#machine.outcome) return;
    const now = this.#host.storeTime.now();
    for (const attempt of this.#attempts) {
      if (attempt.recorded) continue;
      attempt.recorded = true;
      this.#machine.note(startedDraft(attempt.op, attempt.attempt, attempt.ms), now);
    }
  }

  takeAsked(): void {
    const asked = this.#machine.takeAsked();
    if (asked.length === 0) return;
    if (this.idle.length === 0) this.idle = asked;
    else for (const op of asked) this.idle = appended(this.idle, op);
  }

  startDue(): void {
    const { idle } = this;
    if (idle.length === 0) return;
    this.idle = NONE;
    for (const op of idle) {
      if (!op.pending || this.#failIfCutOff(op)) continue;
      if (isDue(op, this.#host) && this.#mayStart(op)) this.#start(op);
      // Most wait for their gate once, alone.
      else this.idle = idle.length === 1 ? idle : appended(this.idle, op);
    }
  }

  /**
   * The code has ended, and attempts in progress belong to the next run attempt, as do those that history says have started.
   */
  startPrepared(): void {
    const { idle } = this;
    if (!this.hasPrepared()) return;
    this.idle = NONE;
    for (const op of idle) {
      if (op.pending && (op.step as StepWork).prepared && this.#mayStart(op)) this.#start(op);
      else this.idle = appended(this.idle, op);
    }
  }

  /** The code's last turns are taken back: another machine repeats them, with the same steps. */
  rebase(machine: Machine): void {
    this.#former = this.idle;
    this.#unbegun = new Set(this.idle.filter((op) => this.#neverBegan(op)).map((op) => op.id));
    this.idle = NONE;
    this.#machine = machine;
  }

  /** The new machine has reached the point where the old one was: what is in progress here belongs to its ops. */
  adopt(): void {
    if (!this.#former) return;
    const late = this.#late;
    const former = this.#former;
    this.#late = NONE;
    this.#former = undefined;
    for (const { id, step } of former) {
      if (step) this.#machine.op(id)?.step?.takeOver(step);
    }
    for (const attempt of [...this.#attempts]) if (!this.#adopt(attempt)) this.#discard(attempt, unwanted());
    for (const { attempt, result } of late) if (this.#adopt(attempt)) this.done(attempt, result);
  }

  #adopt(attempt: Attempt): boolean {
    const op = this.#machine.op(attempt.op.id);
    if (!op?.step || attempt.attempt !== op.step.failedAttempts + 1) return false;
    attempt.moveTo(op);
    op.step.adoptAttempt();
    this.idle = this.idle.filter((other) => other !== op);
    return true;
  }

  /** Everything here stops, and none of it is reported. */
  discardAll(reason: unknown): void {
    for (const attempt of [...this.#attempts]) this.#discard(attempt, reason);
  }

  /**
   * The code has stopped waiting for these, and nothing that it has done can be taken back now. The outcome of those that are
   * closing must still be recorded.
   */
  stop(withdrawn: readonly DrivenOp[], closing: readonly DrivenOp[]): void {
    this.#late = NONE;
    if (withdrawn.length === 0 && closing.length === 0) return;
    const reason = this.#machine.cancellation ?? unwanted();
    const unwaited = new Set(withdrawn);
    for (const attempt of [...this.#attempts]) if (unwaited.has(attempt.op)) this.#discard(attempt, reason);
    for (const op of closing) if (op.step && op.pending) this.#windUp(op, reason);
  }

  /** An attempt whose start is recorded but that does not run here was cut off by a crash. */
  #failIfCutOff(op: DrivenOp): boolean {
    const work = op.step as StepWork;
    if (!work.cutOff || (work.options.onCrash !== "fail" && !work.closing)) return false;
    const attempt = work.startedAttempt;
    const unknown = work.transaction === undefined;
    const effect = unknown ? "whether it took effect is unknown" : "it did not take effect";
    const message = `Attempt ${attempt} of step "${op.id}" was cut off by a crash; ${effect}.`;
    this.#fail(op, attempt, new HoldfastError("step_crashed", message), { unknown });
    return true;
  }

  #mayStart(op: DrivenOp): boolean {
    const work = op.step as StepWork;
    // A start in history is followed by the attempt, even on a draining worker or in a run that is pausing: another worker would take it for an attempt
    // that a crash cut off.
    const waits = this.#machine.pausing || this.#machine.regaining || this.#run.yielding();
    if (work.closing || (waits && !work.prepared)) return false;
    if (work.options.recordStart && work.startedAttempt <= work.failedAttempts) {
      this.#machine.note(startedDraft(op, work.prepareNext()), this.#host.storeTime.now());
    }
    return this.#run.mayUse(op) && this.#host.lease.active();
  }

  #start(op: DrivenOp): void {
    const attempt = new Attempt(op, this.#machine.run, this.#host, this);
    // Once is enough: an attempt that kills its worker each time would otherwise add an event each time, and so look like a
    // run that makes progress.
    const { fn, options, startedAttempt } = op.step as StepWork;
    attempt.recorded = options.recordStart || startedAttempt >= attempt.attempt;
    attempt.run(typeof fn === "function" ? fn : this.#transacting(attempt, fn));
    if (!attempt.open) return;
    attempt.place = this.#attempts.length;
    this.#attempts = appended(this.#attempts, attempt);
    this.#host.watch.add(attempt);
  }

  /** The store may delay the call of the function. */
  #transacting(attempt: Attempt, { kind, fn }: TransactionWork): () => Promise<unknown> {
    const work: TransactionWork["fn"] = (tx, step) => {
      attempt.called = true;
      return fn(tx, step);
    };
    return () => {
      attempt.called = false;
      return runTransaction(this.#host, holdOf(this.#run.run), attempt.op.id, { kind, fn: work }, attempt);
    };
  }

  noteStarted(attempt: Attempt): void {
    attempt.recorded = true;
    this.#run.push(startedDraft(attempt.op, attempt.attempt, attempt.ms));
  }

  done(attempt: Attempt, result: AttemptResult): void {
    const { op } = attempt;
    this.#forget(attempt);
    if (result.ok && result.value === LOST) return this.#run.drop();
    if (!op.pending && (this.#former || this.#queue.mayTakeBack(this.#machine)))
      this.#late = appended(this.#late, { attempt, result });
    if (result.ok && result.value instanceof RecordedOutcome) return this.#recorded(attempt, result.value.message);
    if (!op.pending) return;
    if (!result.ok) return this.#failAttempt(attempt, result.error);
    try {
      this.#complete(attempt, this.#host.codec.encode(result.value, `result of step "${op.id}"`));
    } catch (error) {
      // The work is done and would be done again: only new code can help, so it is not retried.
      this.#fail(op, attempt.attempt, error, { ms: attempt.ms });
    }
  }

  /**
   * The result message reaches the code from the inbox, unless an earlier run attempt that failed has already consumed it.
   */
  #recorded(attempt: Attempt, message: Message): void {
    const { op } = attempt;
    if (op.pending && this.#run.hasConsumed(message)) return this.#complete(attempt, message.payload);
    const { ms } = attempt;
    this.#host.pace.ended(ms, true);
    (op.step as StepWork).committed(ms);
    this.#host.inbox.hand(this.#run, message);
  }

  #complete({ op, attempt, ms, about }: Attempt, payload: Payload): void {
    this.#host.pace.ended(ms, true);
    const type = "step_completed";
    const event: EventDraft = payload.length === 0 ? { type, op: op.id } : { type, op: op.id, payload };
    const meta = about ? { ...attemptMeta(attempt, ms), ...about } : attemptMeta(attempt, ms);
    this.#run.push(meta === undefined ? event : { ...event, meta });
  }

  #failAttempt({ op, attempt, ms, called, about: runs }: Attempt, error: unknown): void {
    const work = op.step as StepWork;
    if (!called && work.closing && work.failedAttempts === 0 && !this.#machine.mayHaveBegun(op))
      return this.#fail(op, 0, error, { neverBegan: true });
    this.#host.pace.ended(ms, false);
    const now = this.#host.storeTime.now();
    const { kind, retryAfterMs } = classifyError(error, { nowMs: now });
    const { retry, retryIf } = work.options;
    const failed = { attempt, retryAfterMs };
    const onThrow = (thrown: unknown): void =>
      writeBrokenRule(this.#host.lines, { run: this.#run.run, op: op.id, attempt, error: this.#host.record(thrown) });
    if (work.closing || !mayTryAgain(retry, failed, () => shouldRetry(retryIf, error, { kind, attempt }, onThrow))) {
      // An attempt that timed out may still take effect: the outcome is unknown.
      const unknown = isHoldfastError(error, "step_timeout") && !work.transaction;
      return this.#fail(op, attempt, error, { unknown, ms, ...runs });
    }
    const delayMs = tryAgainInMs(retry, failed, () => this.#host.random.next());
    const record = this.#host.record(error, { kind });
    const about = { attempt, error: record, retryAt: now + delayMs, retry, ...runs };
    const meta = ms < 1 ? about : { ...about, ms };
    this.#say(op, attempt, record, delayMs);
    this.#host.retried(this.#run.run);
    this.idle = appended(this.idle, op);
    this.#run.push({ type: "step_attempt_failed", op: op.id, meta });
  }

  /** `ms` is how long the last attempt took, if known. */
  #fail(op: DrivenOp, attempts: number, error: unknown, known: FailureFacts = {}): void {
    const record = this.#host.record(error, { attempts, op: op.id });
    const { unknown, neverBegan, ms = 0, runs } = known;
    const meta: EventMeta = {
      attempt: attempts,
      error: record,
      ...(unknown ? { unknown } : {}),
      ...(neverBegan ? { neverBegan } : {}),
      ...(op.step?.closing ? { withdrawn: true } : {}),
      ...(ms < 1 ? {} : { ms }),
      ...(runs ? { runs } : {}),
    };
    // Without an attempt nothing has failed: it was withdrawn.
    if (attempts > 0) this.#say(op, attempts, record, undefined);
    this.#run.push({ type: "step_failed", op: op.id, meta });
  }

  #say(op: DrivenOp, attempt: number, error: ErrorRecord, nextMs: number | undefined): void {
    const { attempts } = (op.step as StepWork).options.retry;
    writeFailedAttempt(this.#host.lines, { run: this.#run.run, op: op.id, attempt, attempts, error, nextMs });
  }

  /** Aborts the attempt and waits, within limits, for its outcome, which its compensation needs. */
  #windUp(op: DrivenOp, reason: Error): void {
    const attempt = this.#attempts.find((other) => other.op === op);
    const work = op.step as StepWork;
    if (attempt) {
      attempt.abort(reason);
      if (work.transaction) return;
      attempt.limit(work.options.timeoutMs ?? this.#host.windUpMs, () => {
        const error = new HoldfastError("step_timeout", `Step "${op.id}" was aborted but did not stop in time.`);
        this.#discard(attempt, error);
        this.#fail(op, attempt.attempt, error, { unknown: true, ms: attempt.ms, ...attempt.about });
      });
    } else if (work.committedMs === undefined && !work.cutOff) {
      this.idle = this.idle.filter((other) => other !== op);
      this.#fail(op, work.failedAttempts, reason, { neverBegan: this.#neverBegan(op) });
    }
  }

  /** For a step that is not running: the only recorded start is the one that this process has prepared, if any. */
  #neverBegan(op: DrivenOp): boolean {
    const work = op.step as StepWork;
    if (work.failedAttempts > 0 || !work.prepared) return false;
    return this.#unbegun?.has(op.id) === true || !this.#machine.mayHaveBegun(op);
  }

  #discard(attempt: Attempt, reason: unknown): void {
    this.#forget(attempt);
    attempt.discard(reason);
  }

  /** The last one takes its place. One that ended late is forgotten twice: the second time it must not push out another. */
  #forget(attempt: Attempt): void {
    const { place } = attempt;
    if (place < 0) return;
    attempt.place = -1;
    this.#host.watch.delete(attempt);
    const last = this.#attempts.pop();
    if (!last || last === attempt) return;
    last.place = place;
    this.#attempts[place] = last;
  }
}

function isDue(op: DrivenOp, { storeTime }: Pick<ExecutorHost, "storeTime">): boolean {
  const { retryAt, withheld } = op.step as StepWork;
  return !withheld && (retryAt === undefined || retryAt <= storeTime.now());
}

function startedDraft(op: DrivenOp, attempt: number, ms = 0): EventDraft {
  const meta = attemptMeta(attempt, ms);
  return { type: "step_started", op: op.id, ...(meta === undefined ? {} : { meta }) };
}

function unwanted(): HoldfastError {
  return new HoldfastError("op_canceled", "The result of this step is no longer needed.");
}
