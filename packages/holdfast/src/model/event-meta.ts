import type { ChildIdentity, RunName } from "./child.ts";
import type { ErrorRecord } from "./error-record.ts";
import type { RetryPolicy } from "./retry-policy.ts";
import type { ClosedStatus, CompensationOutcome } from "./run-status.ts";
import type { TaskFailure, TaskSpec } from "./task.ts";

/** A hold names its worker again when this many events have followed: nobody has to look for it far back. */
export const WORKER_NAMED_EVERY = 500;

/** What an event carries besides its payload. Which event carries what is in the table (event.ts). */
export interface EventMeta {
  /** Which attempt of the op this is about, counted from 1; absent means 1. */
  readonly attempt?: number;
  /**
   * How long the attempt had been running, on the clock of its worker; absent means less than a millisecond. At the end of
   * an attempt that is how long it took; for a start that is recorded late, how late.
   */
  readonly ms?: number;
  /**
   * The last event that the code had seen when it asked for the op; absent means the event directly before (`step_*`, `child_*`,
   * `message_*`). Timers and tasks have an event where they were asked for.
   */
  readonly after?: number;
  /**
   * The name of the worker that the attempt ran on. Named by the first attempt of a hold, and now and then (WORKER_NAMED_EVERY): it
   * is that of all following attempts until another is named.
   */
  readonly worker?: string;
  /** The call of `ctx.parallel` or `ctx.race` that the op belongs to, and its branch there; absent outside of one. */
  readonly group?: string;
  readonly branch?: string;
  /** How failed attempts are repeated (`step_attempt_failed`). */
  readonly retry?: RetryPolicy;
  readonly error?: ErrorRecord;
  /** When the next attempt is due (`step_attempt_failed`). */
  readonly retryAt?: number;
  /** When the timer is due (`timer_created`), or the wait for a lock ends (`lock_requested`). */
  readonly fireAt?: number;
  /** The id of the message that became this event; a history shows the one that the caller gave. */
  readonly messageId?: string;
  /**
   * Which receive of that signal gets it (`signal_received`), or had it before (`signal_handed_on`), counted from 1; absent means the
   * first.
   */
  readonly receive?: number;
  /** The seed of the run's randomness (`run_started`); of what it draws from then on (`run_forked`). */
  readonly seed?: string;
  /** Which run it is (`run_started`): what `ctx.info` returns, so that a saved history can be replayed elsewhere. */
  readonly run?: RunIdentity;
  /** Code has come to rest in this run (`run_started`): its first turn is over, even if no event shows it. */
  readonly begun?: boolean;
  /** When its code was first called, if other events came before that (`run_started`); absent means the time of the event. */
  readonly begunAt?: number;
  /** The run whose events stand before this one (`run_forked`). */
  readonly forkedFrom?: RunName;
  /** Nothing of it happened: whoever forked the run said that the op was to end this way. */
  readonly edited?: true;
  /** Who did it, as they say themselves (what people do to a run from outside). */
  readonly by?: string;
  /** Free text: why (what people do to a run from outside); what a child is told whose parent is canceled (`op_canceled`). */
  readonly reason?: string;
  /** The run id of the batch that did it, unless a message says so by its id. */
  readonly batch?: string;
  /** This ended the run, and its code was never called (`cancel_requested`, `deadline_reached`). */
  readonly neverCalled?: true;
  /** The search attributes that were set. */
  readonly attributes?: Attributes;
  /** The attempt was cut off (crash, or it did not stop in time): whether it took effect is unknown. */
  readonly unknown?: boolean;
  /**
   * No attempt of the step has ever begun, although the start of one is recorded: there is nothing to undo (`step_failed`).
   */
  readonly neverBegan?: true;
  /** Nobody waited for the step any more when it ended: its branch or its run was given up (`step_failed`). */
  readonly withdrawn?: true;
  /** Ops whose failure is forgotten, so that they are retried (`run_retried`). */
  readonly forgets?: readonly string[];
  /** What was scheduled (`task_scheduled`). */
  readonly task?: TaskSpec;
  /** The task does not exist yet, because a lock is being regained: `op_rescheduled` creates it (`task_scheduled`). */
  readonly later?: true;
  /** The attempts that failed, the newest last (`task_failed`). */
  readonly failures?: readonly TaskFailure[];
  /** The number of the message in the inbox (`update_accepted`, `update_completed`): where the answer goes. */
  readonly number?: number;
  /** From which call of `ctx.patched(id)` on the answer is true. */
  readonly from?: number;
  /** Which run was started (`child_started`), or is not wanted any more (`op_canceled`). */
  readonly child?: ChildIdentity;
  /** The beginning of the SHA-256 of the input of the child, as it was sent to the store (`child_started`). */
  readonly inputHash?: string;
  /** The runs that the attempt has started with `s.start`, the first 20 (`step_completed`, `step_attempt_failed`, `step_failed`). */
  readonly runs?: readonly RunName[];
  /** The namespace of the other run, if it is another one: the category of the event is then `nexus`. */
  readonly namespace?: string;
  /** How the other run ended (`child_failed`, `message_failed`). */
  readonly status?: Exclude<ClosedStatus, "continued">;
  /** How its compensations ended, if it had any. */
  readonly compensation?: CompensationOutcome;
  /** Which end of the child it was: a child that is retried may have several (`child_failed`). */
  readonly end?: string;
  /** Whom a message was for (`message_sent`, `message_failed`): its id, or also its run id. */
  readonly to?: Partial<RunName>;
  /** How many requests of the lock may be granted at once (`lock_requested`, `op_rescheduled`). */
  readonly limit?: number;
  /** Larger than that of every earlier grant (`lock_granted`). */
  readonly fence?: number;
  /** The event that requested the lock (`lock_released`). */
  readonly request?: number;
  /** The workflow of the awaited run (`message_failed`). */
  readonly workflow?: string;
}

/** Which run a history belongs to. */
export interface RunIdentity {
  readonly namespace: string;
  readonly runId: string;
  readonly id: string;
  readonly workflow: string;
  readonly version: string;
  readonly queue: string;
  /** The schedule that has started the run, and the time that it was started for; absent if none has. */
  readonly schedule?: string;
  readonly scheduledAt?: number;
}

/** What a search attribute may be. */
export type AttributeValue = string | number | boolean | null;
/** Search attributes, by name. */
export type Attributes = Readonly<Record<string, AttributeValue>>;
