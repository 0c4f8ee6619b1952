import type { TransactionKind } from "../../ports/transact.ts";
import type { ResolvedStepOptions, StepFunction, StepInfo } from "./step-options.ts";

/** A step whose effects are in the store's own database, and commit together with its record. */
export interface TransactionWork {
  readonly kind: TransactionKind;
  readonly fn: (tx: never, step: StepInfo) => unknown;
}

/** The work of one step, and what is known of its attempts: from history, and from the process that executes them. */
export class StepWork {
  readonly fn: StepFunction<unknown> | TransactionWork;
  readonly options: ResolvedStepOptions;
  /** Executions that are known to have failed. */
  failedAttempts = 0;
  /** Whether the start of any attempt is in history; a retry of the run does not change that. */
  everStarted = false;
  /** The event that recorded the first start; 0 if none did. */
  firstStartSeq = 0;
  /** The newest attempt whose start is in history. */
  startedAttempt = 0;
  /** The attempt whose start this process has recorded: if it is not running, it has not begun. */
  preparedAttempt = 0;
  retryAt: number | undefined = undefined;
  /** The run is being wound up: no new attempt; an attempt in flight is aborted and its outcome recorded. */
  closing = false;
  /**
   * How long a committed transaction took: its result message is in the inbox, possibly behind unread messages. Undefined if
   * it has not committed.
   */
  committedMs: number | undefined = undefined;

  constructor(fn: StepFunction<unknown> | TransactionWork, options: ResolvedStepOptions) {
    this.fn = fn;
    this.options = options;
  }

  /** Whether nobody is there to execute it: then no attempt starts. Overridden by a step that is executed elsewhere. */
  get withheld(): boolean {
    return false;
  }

  /** Undefined for an ordinary step. */
  get transaction(): TransactionWork | undefined {
    return typeof this.fn === "function" ? undefined : this.fn;
  }

  // What history says

  noteStarted(attempt: number, seq: number): void {
    this.startedAttempt = attempt;
    if (!this.everStarted) this.firstStartSeq = seq;
    this.everStarted = true;
  }

  noteFailed(attempt: number, retryAt: number | undefined): void {
    this.failedAttempts = attempt;
    this.retryAt = retryAt;
  }

  /** The run is retried: the step gets its attempts back. */
  forgetAttempts(retryAt: number | undefined): void {
    this.failedAttempts = 0;
    this.startedAttempt = 0;
    this.retryAt = retryAt;
  }

  /** Its only recorded start was not followed by an attempt, and is taken back. */
  forgetStart(): void {
    this.everStarted = false;
  }

  /** What is known of its attempts happened to the run that this one was forked from. */
  forgetOrigin(): void {
    this.forgetAttempts(undefined);
    this.forgetStart();
  }

  /** It began in an earlier run attempt, whose result is no longer awaited. */
  countAsCutOff(): void {
    this.noteStarted(this.failedAttempts + 1, 0);
  }

  close(): void {
    this.closing = true;
  }

  // What this process does

  /** The start of the next attempt is about to be recorded here. */
  prepareNext(): number {
    this.preparedAttempt = this.failedAttempts + 1;
    return this.preparedAttempt;
  }

  /** Takes over what the op of a former machine had prepared. */
  takeOver(former: StepWork): void {
    this.preparedAttempt = former.preparedAttempt;
  }

  /** An attempt that runs here belongs to this op: if its start was recorded, it was recorded here. */
  adoptAttempt(): void {
    this.preparedAttempt = this.startedAttempt;
  }

  committed(ms: number): void {
    this.committedMs = ms;
  }

  /** History says that the attempt has started, and this process recorded that. */
  get prepared(): boolean {
    return this.startedAttempt > this.failedAttempts && this.preparedAttempt === this.startedAttempt;
  }

  /** History says that an attempt has started, nothing says how it ended, and this process did not prepare it. */
  get cutOff(): boolean {
    if (!this.options.recordStart || this.startedAttempt <= this.failedAttempts) return false;
    return this.preparedAttempt !== this.startedAttempt;
  }
}
