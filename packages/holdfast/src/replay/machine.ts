/**
 * The machine, as its driver sees it: one run as a function of its history, with verbs instead of fields.
 *
 * The driver is the run executor with its parts (step board, commits, run end, rewind, due times, parking, explanations), or
 * the replayer. It sees only this interface of a machine, and assigns none of its fields. The workflow decides which machine
 * a run has (`WorkflowCode.machine`).
 *
 * What a driver may rely on
 *  1. A machine does no I/O and knows no clock. Time comes in with `deliverLive` and `note`.
 *  2. `start`, `replayNext` and `deliverLive` open a turn when they return true; `close` ends it. Between turns the machine changes
 *     nothing by itself, but may tell its driver of a violation or of something that was asked for.
 *  3. What is taken (`takeAsked`, `takeFresh` …) is the driver's from then on, and is not given twice. Only `putBack` returns
 *     events that could not be written.
 *  4. An op's `gate` says what must be durable before its effect may start. The driver reads ops; what it has learned of an
 *     attempt goes through the verbs of `StepWork`.
 *
 * The machines
 *  - `RunMachine`: workflow code, replayed.
 *  - Graphs: state instead of code. `start` folds what was recorded, from the newest snapshot on; `replayNext` is then always
 *    false, because no turn is needed. `deliverLive` sets a slot and runs inline nodes until only ops are pending, so that a turn
 *    opens and closes at once. A snapshot is one more event among the fresh ones, appended in `close`. It never diverges, and
 *    `askedAt` of an op is a node. Steps are `StepWork` like any other, and so have gates, retries and compensation.
 *  - `GuestMachine`: code in another language that asks from outside. History is a memo by op id, in any order.
 *    A step is asked for without a turn: `Driver.poke` says so, `takeAsked` has it, and the function of its `StepWork` waits for
 *    the guest. When that function starts, the gate is durable and the guest may begin. `written` says when what the guest has
 *    reported is durable, which its calls wait for. `waiting` is true for as long as the guest may ask, and `attended` while one is there.
 */
import type { HoldfastError } from "../errors/holdfast-error.ts";
import type { EndErrorRecord, ErrorRecord } from "../model/error-record.ts";
import type { Attributes, EventDraft, EventMeta, HistoryEvent } from "../model/event.ts";
import type { Payload } from "../model/payload.ts";
import type { CompensationOutcome, Run } from "../model/run.ts";
import type { Codec } from "../ports/codec.ts";
import type { Logger } from "../ports/logger.ts";
import type { Divergence } from "./history/divergence.ts";
import type { DrivenOp } from "./op.ts";
import type { LocksOfRun } from "./ops/lock-table.ts";
import type { TaskWork } from "./ops/task-work.ts";

/** What every machine is made of. */
export interface MachineParams {
  readonly run: Run;
  readonly codec: Codec;
  readonly log: Logger;
  readonly history: readonly HistoryEvent[];
  /** The first turn, or that of the cut of a fork, was finished before, even if history does not show it. */
  readonly begun?: boolean;
  /** An error as history stores it. */
  readonly record?: (error: unknown) => ErrorRecord;
  /** The maximum number of ops that one run may ask for. */
  readonly opsMax: number;
  /** Remember where in the code each op was asked for; slow, for explaining a divergence. */
  readonly locate?: boolean;
  /** A function that returns while ops are pending fails. */
  readonly failForgotten?: boolean;
  readonly driver?: Driver | undefined;
  /** The name of the worker that it runs on, for the events of steps. */
  readonly worker?: string;
  /** The store's time, for what a guest asks for between turns. */
  readonly now?: () => number;
}

/** The driver of a machine, as far as the machine notifies it. */
export interface Driver {
  /** The code did something after which its run cannot continue. */
  violated(): void;
  /** Something was asked for while no turn was open, or the machine was spoiled. */
  poke(): void;
}

export type Outcome =
  | { readonly type: "completed"; readonly value: unknown; readonly output: Payload }
  | { readonly type: "continued"; readonly input: Payload }
  /** The run must be retried, at the ops that failed. */
  | RetriedOutcome
  | {
      readonly type: "failed";
      readonly error: unknown;
      readonly compensation: CompensationOutcome | null;
      /** The run was canceled before its code was called. */
      readonly neverCalled?: true;
      /** What a person's retry takes back; undefined if no step has failed. */
      readonly retry?: RetryByHand | undefined;
    };

export type RetryByHand = Pick<EndErrorRecord, "retryFrom" | "retryKeeps">;

export interface RetriedOutcome {
  readonly type: "retried";
  readonly error: unknown;
  readonly forgets: readonly string[];
  /** A cancel has come since: the next run attempt, which is wound up, need not be waited for. */
  readonly canceled?: true;
}

/** How a run leaves its worker: its end is durable, it waits or is parked in the store, or another worker has it. */
export type RunDeparture = "ended" | "suspended" | "parked" | "lost";

/** Why a run is being wound up from outside. */
export type CancelCause = "cancel" | "deadline";

/** A signal that has reached the run and was not received yet. */
export interface UnreceivedSignal {
  readonly name: string;
  readonly messageId: string;
  readonly payload: Payload;
}

export interface Machine {
  readonly run: Run;
  /** What was recorded when it was made. */
  readonly recorded: readonly HistoryEvent[];
  /** How many times the run as a whole has been retried. */
  readonly retries: number;

  // Where it stands

  readonly started: boolean;
  readonly inTurn: boolean;
  /** Whether recorded events are still to come. */
  readonly replaying: boolean;
  /** How the code ended; undefined while it continues. */
  readonly outcome: Outcome | undefined;
  /** The ops that were pending when the function returned. */
  readonly forgotten: readonly DrivenOp[];
  /** Code and history have diverged: nothing may be executed or written. */
  readonly divergence: Divergence | undefined;
  /** The code did something that cannot be replayed. */
  readonly violation: HoldfastError | undefined;
  /**
   * A query, or a `validate`, has changed what the code does next. History knows nothing of that: another machine must take
   * the place of this one, which may open no more turns.
   */
  readonly spoiled: HoldfastError | undefined;
  readonly cancelCause: CancelCause | undefined;
  /** The error that the code receives when the run is wound up from outside. */
  readonly cancellation: Error | null;
  /** Whether compensation is in progress. */
  readonly compensating: boolean;
  /** Who has asked for the run to be paused, and why; undefined unless that is still to be done. */
  readonly pausing: EventMeta | undefined;
  /** The event that has ended a pause here, or with which a lock was regained: what that has held up may begin once it is durable. */
  readonly resumedSeq: number;

  // Turns

  /** First turn. */
  start(): void;
  /** Ends a run that was canceled, or has reached its deadline, before its code was ever called. */
  endUnstarted(cause: EventDraft): void;
  /** Opens the turn of the next recorded event that the code sees; false if none is left, or on divergence. */
  replayNext(): boolean;
  /** Gives an event its place and opens its turn; false if its op is no longer pending, and nothing was recorded. */
  deliverLive(draft: EventDraft, now: number): boolean;
  /**
   * The code has come to rest in an open turn. Whether it runs on all the same, because something that it waits for has come
   * true: then the turn is still open.
   */
  runOn(): boolean;
  close(): void;

  /** Records something about an op that the code does not see; ignored if the op is no longer pending. */
  note(draft: EventDraft, now: number): void;
  /** Records something about the run as a whole that the code does not see. */
  noteRun(draft: EventDraft, now: number): void;

  // What the code wants, since the driver last asked

  /** Steps to execute. */
  takeAsked(): readonly DrivenOp[];
  /** Ops about other runs, for which the store must be called. */
  takeCalls(): readonly DrivenOp[];
  /** Ops that the code has stopped waiting for: stop their work and ignore its result. */
  takeWithdrawn(): readonly DrivenOp[];
  /** Steps to abort whose outcome must still be recorded, because they may have to be compensated. */
  takeClosing(): readonly DrivenOp[];

  // What must be written

  /** Events that are not in the store yet; for reading only. */
  readonly fresh: readonly HistoryEvent[];
  /** Attributes that they set. */
  readonly freshAttributes: Attributes | null;
  takeFresh(): readonly HistoryEvent[];
  takeFreshAttributes(): Attributes | null;
  /** These were taken, or belong to what was recorded, and are not in the store. */
  putBack(events: readonly HistoryEvent[], attributes: Attributes | null): void;
  /** Everything up to that event is in the store. */
  written(seq: number): void;
  /** The run is no longer held here. */
  left(how: RunDeparture): void;

  // Ops

  /** The op of that id, while it is pending. */
  op(id: string | null): DrivenOp | undefined;
  /** A copy, in the order of asking. */
  pendingOps(): readonly DrivenOp[];
  /**
   * How a pending op ends of which whoever forked the run has said so. To be delivered before anything else: it was decided before
   * anything could happen. It is a violation if the op cannot end in that way.
   */
  nextEdited(): EventDraft | undefined;
  /** Whether the op is to end in such a way. */
  isEdited(op: string | null): boolean;
  /** The first of them that could wake the code, and whether any waits for something other than a time. */
  firstPending(max: number): readonly DrivenOp[];
  readonly waitsForOthers: boolean;
  /** The pending ops with a due time. */
  readonly timers: ReadonlySet<DrivenOp>;
  /** Whether anything could still wake the code. */
  readonly waiting: boolean;
  /**
   * For a run whose code is outside: whether somebody works on it, or is about to, and may ask at any time. Such a run is kept. Undefined
   * for all others: what they wait for decides.
   */
  readonly attended: boolean | undefined;
  /** Whether an attempt of the step may have begun before this worker claimed the run. */
  mayHaveBegun(op: DrivenOp): boolean;

  /** The task of that op, pending or not; undefined if the code has asked for none. */
  task(id: string | null): TaskWork | undefined;
  /** Whether the code has asked for any task. */
  readonly hasTasks: boolean;
  /** Whether the code has asked for anything that concerns another run. */
  readonly hasCalls: boolean;

  // Locks

  /** Those that the code has requested and not left. */
  readonly locks: LocksOfRun;
  /** Whether the code is inside of a lock that the run does not hold at the moment: then nothing that it asks for may start. */
  readonly regaining: boolean;
  /** Records something about a lock that the code is inside of, or waits for. The code does not see it. */
  noteLock(draft: EventDraft, now: number): void;

  // Conversations, while the code is at rest

  /** The event that an update becomes, to be delivered at once; or why it is refused. Changes nothing. */
  judgeUpdate(draft: EventDraft): EventDraft | HoldfastError;
  /** The message id of an update that was accepted, by the number of its message. */
  updateId(number: number): string | undefined;
  /** The first answer to an update of a run that was tried again since: that one counts, whatever its handler says the next time. */
  answerOf(op: string | null): HistoryEvent | undefined;
  /** Whether the code has registered any handler. */
  readonly hasHandlers: boolean;
  /** Records that an update was refused, for the first ones of a run. */
  noteRejected(name: string, meta: Pick<EventMeta, "messageId" | "error">, now: number): void;
  /**
   * Answers a query. Throws `handler_not_found` or `query_failed`. Changes nothing, unless the handler does what it should not:
   * `rested` must be called in the next macrotask.
   */
  query(name: string, argument: Payload): Payload;
  /** What the last queries may have woken has come to rest. Throws `query_failed` if they have spoiled the machine. */
  rested(): void;

  // Messages

  /** The number that the next event gets. */
  readonly nextSeq: number;
  /** The names of the signals that the code waits for. */
  awaitedSignals(): readonly string[];
  /** What a run that continues as new hands on to its successor. */
  unreceived(): readonly UnreceivedSignal[];
}
