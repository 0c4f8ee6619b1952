/**
 * Tasks: work that a run has scheduled and that a worker, or someone with its token, finishes. They are created by
 * `runs.commit`, in the commit with the event that schedules them, and each ends in exactly one of four ways: its result is
 * put into the inbox of its run (`finish`), the run's own commit deletes it (`settled`, `dropTasks`), the run ends from
 * outside, or it stays as a dead letter until its run is retried or purged. The promises of every call are in store.ts.
 */
import type { ProcessDeath, TaskFinisher } from "../model/decisions/task.ts";
import type { Payload } from "../model/payload.ts";
import type { Task, TaskFailure, TaskHold, TaskKey, TaskRow, TaskStatus } from "../model/task.ts";

export interface TaskStore {
  /**
   * Claims due tasks for a worker: epoch + 1, held by it; its limits on one attempt begin to run. Only tasks that the worker
   * can do: of these queues and names, with all required labels among `labels`. Its cost does not grow with the number of
   * tasks that the worker cannot do. Higher priority first, and within one priority and kind the longest due first. Skips
   * rows that another transaction has locked. Precondition: the worker is of this namespace and not offline, otherwise
   * nothing is claimed and `live` is false.
   * Idempotence key: `claimId`; with `again`, tasks already claimed under this id are returned instead of claiming more.
   */
  claim(params: ClaimTasksParams): Promise<ClaimTasksResult>;

  /**
   * Ends attempts. Precondition per task: `judgeFinish` (model/decisions/task.ts), on the locked row. Then:
   * - `completed`, `failed`: the result goes into the inbox of the run that scheduled the task, as a message of that kind
   *   named after the op, with the id `taskMessageId`; the run is made due as by any message. The row is deleted, or kept as
   *   `dead` if `keep` says so. A run that has ended or is being deleted gets nothing, and the row goes: `closed`.
   * - `retry`: due again after `delayMs`, attempt + 1, epoch + 1, with these failures.
   * - `release`: due again at once, epoch + 1; neither an attempt nor a death.
   * - `died`: due again at once, epoch + 1, with these failures and one death more; not an attempt. A task that this death
   *   fails (`afterTaskProcess`) expires at once, as a crash.
   * - `external`: epoch unchanged, held by nobody from now on; the limits of its attempt keep running.
   * Atomic per task: row, message, counter and due time together.
   * Idempotence: a repeated call of a holder may be answered `lost`. A repeated call with a token is answered `done`, as long
   * as the row (after `retry`) or the message in the inbox shows its `finishId`.
   */
  finish(params: FinishTasksParams): Promise<FinishTasksResult>;

  /**
   * Reports of attempts in progress: details, and a sign of life, which starts the limit on silence anew. Details forget the
   * deaths of earlier workers: they are progress. Fenced by epoch and holder (or secret); naturally idempotent.
   */
  beat(params: BeatTasksParams): Promise<BeatTasksResult>;

  /**
   * A run gives tasks up whose outcome it must still learn. A held one is marked, its holder is hinted, and it expires after
   * `TASK_CANCEL_MS` (`waiting`). One that nobody has ever held can no longer be claimed (`never_began`). Any other one can no
   * longer be claimed either (`stopped`): an earlier attempt, or whoever has its token, may have had an effect. `gone`: there
   * is no such row, or it is dead. Idempotent: a repeated call gets the same answer.
   */
  cancel(params: CancelTasksParams): Promise<CancelTasksResult>;

  /** Tasks of all namespaces whose limits have passed, the longest first, with what is needed to judge them. Read only. */
  expired(params: { readonly limit: number }): Promise<ExpiredTasksResult>;

  /** The task of each key; null if there is none. Read only. */
  read(params: ReadTasksParams): Promise<readonly (Task | null)[]>;

  /** By run id and seq, ascending: roughly the order in which their runs were created. Read only. */
  list(params: ListTasksParams): Promise<readonly Task[]>;

  /**
   * Where a due task stands: how many tasks of its queue and name with the same labels come before it, counted no further
   * than `atMost`. Null if it is not due. Read only.
   */
  position(params: TaskKey & { readonly namespace: string; readonly atMost: number }): Promise<number | null>;
}

export interface ClaimTasksParams {
  readonly workerId: string;
  readonly claimId: string;
  readonly again: boolean;
  readonly namespace: string;
  readonly queues: readonly string[];
  readonly names: readonly string[];
  /** As in `requires`: see `offeredLabels`. */
  readonly labels: readonly string[];
  readonly limit: number;
  /** Claim one suspect and mark it as alone; otherwise suspects are skipped. */
  readonly solo: boolean;
}

export interface ClaimTasksResult {
  readonly live: boolean;
  readonly tasks: readonly Task[];
  readonly now: number;
  /** Due tasks were left, as with runs. */
  readonly moreDue: boolean;
  /** When the earliest task that this claim could take and that is not due yet becomes due. */
  readonly nextDueAt: number | null;
  readonly suspectDue: boolean;
}

/** How an attempt ends. */
export type TaskResult =
  | { readonly type: "completed"; readonly payload: Payload }
  /** For good. `payload`: what the run learns of the failure; opaque to the store. */
  | {
      readonly type: "failed";
      readonly payload: Payload;
      readonly failures: readonly TaskFailure[];
      readonly keep: boolean;
    }
  | { readonly type: "retry"; readonly delayMs: number; readonly failures: readonly TaskFailure[] }
  /** The attempt does not count; the task is due again at once, or after the delay. */
  | { readonly type: "release"; readonly delayMs?: number }
  /** The process that executed it for its worker has died; the worker has not. */
  | ({ readonly type: "died"; readonly failures: readonly TaskFailure[] } & ProcessDeath)
  | { readonly type: "external" };

export interface FinishTask extends TaskHold {
  readonly namespace: string;
  readonly by: TaskFinisher;
  readonly result: TaskResult;
}

export interface FinishTasksParams {
  readonly finishes: readonly FinishTask[];
}

export interface FinishOutcome {
  /**
   * `busy`: another transaction has locked the run or the task: repeat it. `closed`: the attempt has ended, but its run
   * wants no result any more.
   */
  readonly outcome: "done" | "lost" | "closed" | "busy";
}

export interface FinishTasksResult {
  readonly outcomes: readonly FinishOutcome[];
  readonly now: number;
}

export interface TaskBeat extends TaskHold {
  readonly namespace: string;
  readonly by: Exclude<TaskFinisher, { type: "expiry" | "order" }>;
  /** Null leaves them as they are. */
  readonly details: Payload | null;
}

export interface BeatTasksParams {
  readonly beats: readonly TaskBeat[];
}

export interface BeatTasksResult {
  /** `lost`: this attempt is no longer the current one; `canceled` then says that the task does not exist any more. */
  readonly outcomes: readonly { readonly outcome: "heard" | "lost"; readonly canceled: boolean }[];
  readonly now: number;
}

export interface CancelTasksParams {
  readonly namespace: string;
  readonly tasks: readonly TaskKey[];
}

export interface CancelTasksResult {
  readonly outcomes: readonly { readonly outcome: "waiting" | "never_began" | "stopped" | "gone" | "busy" }[];
}

export interface ExpiredTasksResult {
  readonly tasks: readonly Task[];
  readonly now: number;
  /** When the next limit passes, of those that are known now. */
  readonly nextExpiryAt: number | null;
}

export interface ReadTasksParams {
  readonly namespace: string;
  readonly tasks: readonly TaskKey[];
}

export interface ListTasksParams {
  readonly namespace: string;
  readonly name?: string;
  readonly queue?: string;
  readonly status?: TaskStatus;
  readonly runId?: string;
  readonly limit: number;
  readonly after?: TaskKey;
}

/** Tasks that a worker holds, as the store knows them. */
export type HeldTask = Pick<TaskRow, "runId" | "seq" | "epoch" | "canceled">;
