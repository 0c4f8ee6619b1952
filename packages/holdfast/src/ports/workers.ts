/** Workers: their leases, and what happens to runs whose worker is gone. The promises of every call are in store.ts. */
import type { ErrorRecord } from "../model/error-record.ts";
import type { RateRow } from "../model/rates.ts";
import type { TaskHold } from "../model/task.ts";
import type { WorkerAbout, WorkerLoad, WorkerLogRow, WorkerRow } from "../model/worker-row.ts";
import type { HeldRunState } from "./runs.ts";
import type { ScheduleOutlook } from "./schedules.ts";
import type { HeldTask } from "./tasks.ts";

export interface WorkerStore {
  /** Idempotence key: workerId; registering a dead id, or one of another namespace, returns `live: false`. */
  register(params: RegisterWorkerParams): Promise<RegisterWorkerResult>;

  /** Extends the lease if the row is live; returns how many runs the store thinks the worker holds, and which are behind. */
  heartbeat(params: HeartbeatParams): Promise<HeartbeatResult>;

  /** Which runs the store thinks a worker holds. Read only. */
  readHeld(params: WorkerRef): Promise<readonly HeldRunState[]>;

  /** Which tasks the store thinks a worker holds. Read only. */
  readHeldTasks(params: WorkerRef): Promise<readonly HeldTask[]>;

  /**
   * Takes the worker offline for good and releases what it still holds, except tasks that must not be repeated: they expire at
   * once, as a crash (`afterTaskHolder`). A leader steps down. Idempotent.
   */
  stop(params: WorkerRef): Promise<void>;

  /**
   * Marks workers whose lease has expired, or instead those of `gone`, as offline and reclaims the runs of every offline
   * worker: epoch + 1, due now, and deaths + 1 if the worker died (one that stopped did not). Makes a run with
   * `suspectAfter` deaths a suspect and parks one with `parkAfter` deaths while alone. Ends runs that have never begun once
   * their deadline passed `timeoutGraceMs` ago and no worker has claimed them. Runs that have begun may have something to
   * clean up: they are due, and wait for a worker. The tasks of offline workers are due again as well, epoch + 1, deaths + 1
   * if the worker died; those that a death fails (`afterTaskHolder`) expire at once, as a crash. Runs and tasks count towards
   * `limit`. A leader that is declared dead steps down, and others are hinted, so that one of them leads without waiting for its
   * next heartbeat. Safe to run on any number of workers at once.
   */
  sweep(params: SweepParams): Promise<SweepResult>;

  /** The workers of a namespace: all that are remembered, or only those of `goneSince`, at the cost of those. Read only. */
  list(params: ListWorkersParams): Promise<readonly WorkerRow[]>;

  /** The worker learns of it with its next heartbeat. Idempotent; `offline`: it is gone already. */
  askToDrain(params: WorkerRef): Promise<{ readonly outcome: "asked" | "offline" | "not_found" }>;

  /** What has happened to the workers of a namespace, newest first: entries below `before`, of one worker if it is named. Read only. */
  readLog(params: ReadWorkerLogParams): Promise<readonly WorkerLogRow[]>;

  /**
   * Adds what a worker has counted. Idempotence key: (workerId, no), numbered from 1; one that was added before, that of a worker
   * which is not live, and one out of order change nothing.
   */
  addRates(params: AddRatesParams): Promise<void>;

  /** Sums in stretches of `grainMs`, in order of time and workflow. `from` is included, `to` is not. Read only. */
  readRates(params: ReadRatesParams): Promise<readonly RateRow[]>;

  /**
   * Forgets what is older: entries of the log, counts, and workers that have been offline and without runs and tasks since then, at
   * most `limit` of each. Of all namespaces. Answers whether the limit was reached.
   */
  forget(params: { readonly before: number; readonly limit: number }): Promise<{ readonly more: boolean }>;

  /** The leader, of whatever namespace it is; null if there is none. Its lease may have expired. Read only. */
  readLeader(params: Record<string, never>): Promise<Leader | null>;
}

/**
 * The worker that fires schedules, one in the whole store. A worker that coordinates becomes the leader by registering or by a
 * heartbeat, if there is none, or the one there is drains, is offline, or its lease has expired. It stays the leader until then.
 * Nothing depends on there being only one.
 */
export interface Leader {
  readonly workerId: string;
  readonly namespace: string;
  readonly since: number;
}

export interface ListWorkersParams {
  readonly namespace: string;
  /** Without workers that went offline before this time. */
  readonly goneSince?: number;
}

export interface WorkerRef {
  readonly namespace: string;
  readonly workerId: string;
}

export interface ReadWorkerLogParams {
  readonly namespace: string;
  readonly workerId?: string;
  /** An entry number; null: from the newest. */
  readonly before: number | null;
  readonly limit: number;
}

export interface AddRatesParams extends WorkerRef {
  readonly no: number;
  readonly rates: readonly RateRow[];
}

export interface ReadRatesParams {
  readonly namespace: string;
  readonly from: number;
  readonly to: number;
  readonly grainMs: number;
  readonly workflow?: string;
}

export interface RegisterWorkerParams extends WorkerRef {
  readonly name: string;
  /** The machine and the process, for workers that register later. */
  readonly host?: string;
  readonly pid?: number;
  readonly queues: readonly string[];
  readonly workflows: readonly string[];
  /** The names of the tasks that it executes. */
  readonly tasks?: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly about?: WorkerAbout;
  readonly leaseMs: number;
  /** It may become the leader. */
  readonly coordinates?: boolean;
}

export interface RegisterWorkerResult {
  readonly live: boolean;
  readonly now: number;
  /** It is the leader now; absent if not. */
  readonly leads?: LeaderOutlook;
  /** Other live workers of the same namespace, host and name; left out for a worker that does not name its host. */
  readonly namesakes?: readonly { readonly workerId: string; readonly pid: number }[];
}

export interface HeartbeatParams extends WorkerRef {
  readonly leaseMs: number;
  readonly draining: boolean;
  readonly load?: WorkerLoad;
  /** It may become the leader, or stay it, unless it drains. */
  readonly coordinates?: boolean;
}

export interface HeartbeatResult {
  readonly live: boolean;
  readonly now: number;
  readonly heldCount: number;
  /** Held runs with unconsumed messages: the safety net for lost `inbox` hints. */
  readonly behind: readonly string[];
  readonly heldTasks: number;
  /** Held tasks that were canceled: the safety net for lost `task` hints. */
  readonly canceledTasks: readonly TaskHold[];
  /** It was asked to drain. */
  readonly drain?: true;
  /** It is the leader; absent if not. */
  readonly leads?: LeaderOutlook;
}

/** What there is to do for the leader. */
export interface LeaderOutlook extends ScheduleOutlook {
  /** There are namespaces whose runs are deleted some day. */
  readonly retains: boolean;
}

export interface SweepParams {
  readonly suspectAfter: number;
  readonly parkAfter: number;
  readonly parkError: ErrorRecord;
  readonly timeoutGraceMs: number;
  readonly timeoutError: ErrorRecord;
  readonly limit: number;
  /** Workers whose process is known to be gone: only these are declared dead, even if their lease has not expired. */
  readonly gone?: readonly string[];
}

export interface SweepResult {
  readonly now: number;
  readonly dead: number;
  readonly returned: number;
  readonly tasksReturned: number;
  readonly parked: number;
  readonly timedOut: number;
  /** The limit was reached: sweep again at once. */
  readonly more: boolean;
  /** When the next lease expires, unless it is renewed. */
  readonly nextExpiryAt: number | null;
  /** When the earliest limit of a task passes, in any namespace; it may have passed already. */
  readonly nextTaskExpiryAt: number | null;
  /** There are debts that nobody has paid for `DEBT_OVERDUE_MS`, in any namespace, or this sweep has ended runs that owe something. */
  readonly owes?: true;
}
