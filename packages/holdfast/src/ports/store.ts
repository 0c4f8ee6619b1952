/**
 * The store: the truth about runs, their histories and inboxes, and about workers.
 *
 * What every method promises, so that adapters and engine agree:
 * 1. Each call is atomic: all of it happens, or none. Calls that take many runs decide each run on its own and say so
 *    per run. Within one call each run and each id occurs once, except that several messages may go to one run: they are
 *    numbered in the order of the call.
 * 2. Each call is idempotent under the ids that the caller made (runId, messageId, claimId, epoch and commit number): the
 *    caller may repeat it, unchanged, after an outcome that it could not see.
 * 3. Due times and leases are judged by the store's own clock; every reply that carries `now` tells it. That clock may be set back:
 *    a run does not start before it was created, and neither its end nor its retry is earlier than its start or its last event.
 * 4. Errors: `store_unavailable` (nothing happened), `store_outcome_unknown` (it may have happened: repeat the call),
 *    `store_refused` (the data of this call was refused as a whole: repeating it cannot help, but a part of it may pass).
 *    Everything else is a bug. An outcome `busy` means that a stranger's transaction has the row: repeat it unchanged.
 * 5. Ids of runs, workers and claims are lower-case UUIDs; run ids are time-ordered (version 7). Payloads, error records and
 *    event metadata are opaque to the store.
 * 6. After a commit the store publishes hints through its notifier; nobody may depend on them.
 */
import type { ErrorRecord } from "../model/error-record.ts";
import type { Attributes, EventDraft, HistoryEvent } from "../model/event.ts";
import type { Message, MessageKind } from "../model/message.ts";
import type { Payload } from "../model/payload.ts";
import type { ClosedStatus, CompensationOutcome, NewRun, Run, RunRow, RunStatus } from "../model/run.ts";
import type { VersionRow } from "../model/version-row.ts";
import type { WorkerRow } from "../model/worker-row.ts";
import type { ListRunsParams, PurgeRunsParams, PurgeRunsResult, RunFilter } from "./run-filter.ts";
import type { TransactParams, TransactResult } from "./transact.ts";
import type {
  HeartbeatParams,
  HeartbeatResult,
  HeldRun,
  RegisterWorkerParams,
  RegisterWorkerResult,
  ReleaseRunsParams,
  SweepParams,
  SweepResult,
} from "./worker-calls.ts";

export type * from "./run-filter.ts";
export type * from "./transact.ts";
export type * from "./worker-calls.ts";

export interface Store {
  /**
   * Creates runs, or finds the runs that already have their ids.
   * Precondition: names and ids are valid. Atomic per run; `replace` ends the old run and creates the new one together.
   * Idempotence key: `runId`. A start with `hold` is claimed in the same step by `holdBy`, if that worker is not offline and
   * the run is due at once. The run is due at the later of `startAt` and the delay, but never after its deadline.
   */
  startRuns(params: StartRunsParams): Promise<StartRunsResult>;

  /**
   * Takes due runs for a worker: epoch + 1, held by it, `running` (or still `compensating`), `startedAt` set if it was null.
   * Skips rows that somebody else has locked. Higher priority first, and within one workflow version and priority the
   * longest due first. Precondition: the worker is not offline, else nothing is claimed and `live` is false.
   * Idempotence key: `claimId`; with `again`, runs already taken under this id are returned instead of claiming more.
   */
  claimRuns(params: ClaimRunsParams): Promise<ClaimRunsResult>;

  /**
   * Appends events and moves runs on: the one way in which a holder writes.
   * Precondition per run: the row carries exactly (epoch, commit) and is held by this worker; the row then has commit + 1.
   * A row that carries (epoch, commit + 1) has taken this very flush before and counts as written. Any other pair: `lost`,
   * and nothing of that run is written now (an earlier try of a commit that let the run go may have been).
   * When messages were delivered that the holder has not consumed, `suspend` is left out and the run stays held; and of a
   * commit with `end` and `unlessBehind` nothing at all is written: `behind`, and the next commit has the same number.
   * A later `availableAt` is never after the deadline; what is made due now is due now, here and everywhere.
   * Idempotence key: (runId, epoch, commit).
   */
  commitRuns(params: CommitRunsParams): Promise<CommitRunsResult>;

  /**
   * Puts messages into inboxes and makes runs due that nobody holds and that are not parked. A run that has never been
   * claimed keeps its start time when a signal comes; a cancel makes it due at once.
   * Atomic per message: counter, row and due time together. Follows a run that continued as new. Precedence of outcomes:
   * not_found, duplicate, closed, full, delivered. A cancel is never `full`.
   * Idempotence key: (chain of the run, messageId), remembered as long as a run of the chain is there.
   */
  deliverMessages(params: DeliverMessagesParams): Promise<DeliverMessagesResult>;

  /**
   * Does the application's own work and puts its outcome into the inbox of a held run, in one transaction: both or neither.
   * Precondition, judged on the locked row at the end: the run carries this epoch and is held by this worker, else `lost` and
   * nothing happened. Makes nothing due and sends no hint: the caller holds the run.
   * Idempotence key: (run, messageId). There is one outcome, whatever is repeated: who comes second is given the first one.
   * What `work` throws is thrown, and nothing happened. When `signal` is aborted before the end, its reason is thrown, and
   * nothing happened. After `store_outcome_unknown` the call is repeated with `again`.
   */
  transact(params: TransactParams): Promise<TransactResult>;

  /** Messages with number > after, in order. The payload of a consumed one may be gone, unless it is an outcome. Read only. */
  readInbox(params: ReadInboxParams): Promise<readonly Message[]>;

  /** For each run asked for: events with seq > afterSeq, in order, without the start and the end. Read only. */
  readHistories(params: ReadHistoriesParams): Promise<readonly (readonly HistoryEvent[])[]>;

  /**
   * Ends runs from outside, whoever holds them: epoch + 1, so that a holder's next write is refused.
   * Idempotence: a run that is closed already is left alone and reported as such.
   */
  terminateRuns(params: TerminateRunsParams): Promise<readonly TerminateOutcome[]>;

  /** Makes a parked run due again (`running`), with its deaths forgotten. Anything else is left alone. */
  resumeRunIfParked(params: RunRef): Promise<{ readonly status: RunStatus | null }>;

  /**
   * Takes parked runs for a worker whose code may be able to go on with them: runs that were parked with a `code`, if the
   * handler's code is none of those that have parked it since it last made progress. They are held as if claimed under
   * `claimId`, with their error forgotten: `claimRuns` with `again` gives them to the worker. Only runs of these queues and
   * handlers, no suspects, at most `limit`; `more` says that some may be left. Progress, an operator's resume and a sweep that
   * parks the run forget who parked it. Skips rows that somebody else has locked. Precondition: the worker is not offline, else
   * nothing is taken and `live` is false; `limit` is at least 1. Atomic as a whole. Idempotence: none is needed, what was taken
   * is no longer parked, and is found under `claimId`. No errors but those of every call.
   */
  holdRunsIfParkedByOtherCode(params: TakeUpParams): Promise<TakeUpResult>;

  /**
   * Makes a failed run go on: appends the event, epoch + 1, `running`, due now; error, end and deaths forgotten, a deadline that
   * is still there starts anew. Precondition: it is `failed`, it has exactly `eventCount` events, and no newer run has its id.
   * Idempotence: (run, eventCount); a run that is open and has more events counts as reopened.
   */
  reopenRunIfFailed(params: ReopenParams): Promise<ReopenOutcome>;

  /**
   * Deletes closed runs that ended before that time, with their events and inboxes: the oldest first, at most `limit`. The
   * message ids of a chain stay as long as one of its runs does. What continued as a run that is gone is `not_found` for
   * messages. Skips rows that somebody has locked. Precondition: `limit` is at least 1. Atomic as a whole. Idempotence: none
   * is needed, a repeated call goes on where the first one ended; but a start under a purged runId is a new start. No errors
   * but those of every call.
   */
  purgeRuns(params: PurgeRunsParams): Promise<PurgeRunsResult>;

  /**
   * Makes workflow versions known, with the hash of their code. Answers the rows as they were before, null where there was
   * none. Idempotence key: (namespace, workflow, version); the newest hash stays.
   */
  registerVersions(params: RegisterVersionsParams): Promise<readonly (VersionRow | null)[]>;

  /** Changes a known version; setting a default or a share takes it from the version of that workflow that had it. */
  updateVersionIfKnown(params: UpdateVersionParams): Promise<{ readonly known: boolean }>;

  /** Ordered by workflow, then by registration. Read only. */
  listVersions(params: { readonly namespace: string; readonly workflow?: string }): Promise<readonly VersionRow[]>;

  /** Idempotence key: workerId; registering a dead id answers `live: false`. */
  registerWorker(params: RegisterWorkerParams): Promise<RegisterWorkerResult>;

  /** Extends the lease if the row is live; says how many runs the store thinks the worker holds, and which are behind. */
  heartbeatWorker(params: HeartbeatParams): Promise<HeartbeatResult>;

  /** Which runs the store thinks a worker holds. Read only. */
  readHeld(params: { readonly workerId: string }): Promise<readonly HeldRun[]>;

  /** Gives runs back, due at once, without counting a death. Fenced by epoch; idempotent. */
  releaseRunsIfHeld(params: ReleaseRunsParams): Promise<{ readonly released: number }>;

  /** Takes the worker offline for good and releases what it still holds. Idempotent. */
  stopWorker(params: { readonly workerId: string }): Promise<void>;

  /**
   * Marks workers whose lease has expired, or instead those of `gone`, as offline and returns the runs of every offline worker: epoch + 1, due now, and
   * deaths + 1 if the worker died (one that signed off did not). Makes a run with `suspectAfter` deaths a suspect and parks
   * one with `parkAfter` deaths while alone. Ends runs that have never begun once their deadline lies `timeoutGraceMs` back:
   * no worker has taken care of it. Runs that have begun may have something to clean up: they are due, and wait for a worker.
   * Safe to run on any number of workers at once.
   */
  sweepWorkers(params: SweepParams): Promise<SweepResult>;

  listWorkers(params: { readonly namespace: string }): Promise<readonly WorkerRow[]>;

  /** What time it is by the store's clock, for those who judge the times of its rows. */
  readClock(): Promise<{ readonly now: number }>;

  /** The newest run of each id asked for, or the run with the runId asked for; null where there is none. */
  readRuns(params: { readonly runs: readonly RunRef[] }): Promise<readonly (Run | null)[]>;
  listRuns(params: ListRunsParams): Promise<readonly RunRow[]>;
  /** Counts no further than `atMost`. */
  countRuns(params: RunFilter & { readonly atMost: number | null }): Promise<number>;

  close(): Promise<void>;
}

/** A run by its own id, or the newest run of a user's id. */
export type RunRef = { readonly runId: string } | { readonly namespace: string; readonly id: string };

export interface StartRun {
  readonly run: NewRun;
  readonly ifRunning: "return" | "fail" | "replace";
  readonly ifClosed: "return" | "start" | "fail";
  /** Claim it at once for `holdBy`. */
  readonly hold: boolean;
  /**
   * Null: exactly `run.version`. A number in [0, 1): the version whose share is above it, else the workflow's default
   * version, else `run.version`.
   */
  readonly pick: number | null;
}

export interface StartRunsParams {
  readonly starts: readonly StartRun[];
  readonly holdBy: { readonly workerId: string; readonly claimId: string } | null;
  /** What a run that is replaced is terminated with. */
  readonly replaceError: ErrorRecord;
}

export interface StartOutcome {
  /** `created` also when a repeated call finds its own runId; `exists` when the policy says fail. */
  readonly outcome: "created" | "returned" | "exists" | "busy";
  readonly run: RunRow;
}

export interface StartRunsResult {
  readonly outcomes: readonly StartOutcome[];
  readonly now: number;
}

export interface ClaimRunsParams {
  readonly workerId: string;
  readonly claimId: string;
  readonly again: boolean;
  readonly namespace: string;
  readonly queues: readonly string[];
  /** Only runs of these workflow versions. */
  readonly handlers: readonly { readonly workflow: string; readonly version: string }[];
  readonly limit: number;
  /** Take one suspect and mark it as alone; without it suspects are left. */
  readonly solo: boolean;
}

export interface ClaimRunsResult {
  readonly live: boolean;
  readonly runs: readonly Run[];
  /** Unconsumed messages of the claimed runs, in order. */
  readonly messages: readonly Message[];
  readonly now: number;
  /** Due runs were left: because of the limit, or because somebody else has locked them. */
  readonly moreDue: boolean;
  /** When the earliest run that this claim could take and that is not due yet becomes due. */
  readonly nextDueAt: number | null;
  /** A suspect is due: some worker should empty itself and take it alone. */
  readonly suspectDue: boolean;
}

export type Transition =
  /** Keep holding it. */
  | { readonly type: "hold"; readonly status: "running" | "compensating" }
  /** Let go until `availableAt`, or until a message comes. */
  | {
      readonly type: "suspend";
      readonly status: "sleeping" | "waiting" | "compensating";
      readonly availableAt: number | null;
      readonly waitingFor: readonly string[];
    }
  /** Let go, due at once (drain, fairness). */
  | { readonly type: "release" }
  | {
      readonly type: "end";
      readonly status: Exclude<ClosedStatus, "continued" | "terminated">;
      readonly output: Payload | null;
      readonly error: ErrorRecord | null;
      /** Write nothing of this commit when messages have come that are not consumed: the code may want to see them first. */
      readonly unlessBehind: boolean;
      readonly compensation: CompensationOutcome | null;
    }
  /** End as `continued` and create the successor of the same id: its inbox is the carried and then the unconsumed messages. */
  | { readonly type: "continue"; readonly next: NewRun; readonly carried: readonly CarriedMessage[] }
  /** No code here can safely continue it. `code`: who says so, where other code may be able to (see model/parked-by.ts). */
  | { readonly type: "park"; readonly error: ErrorRecord; readonly code?: string };

/** A message that was moved into history but never received; it starts the successor's inbox. */
export interface CarriedMessage {
  readonly kind: MessageKind;
  readonly name: string;
  readonly messageId: string;
  readonly payload: Payload;
}

export interface RunCommit {
  readonly runId: string;
  readonly epoch: number;
  readonly commit: number;
  /** Consecutive from eventCount + 1. Events reset the death count: they are progress. */
  readonly events: readonly HistoryEvent[];
  /** Messages 1…consumed are in history with this commit. */
  readonly consumed: number;
  /** Replaces all of them; null leaves them as they are. */
  readonly attributes: Attributes | null;
  /** The deadline has been dealt with, or no longer counts: the run is being wound up. Clears it. */
  readonly clearDeadline: boolean;
  readonly transition: Transition;
}

export interface CommitRunsParams {
  readonly workerId: string;
  readonly commits: readonly RunCommit[];
}

export interface CommitOutcome {
  /**
   * `busy`: the row was locked by a stranger; send the same commit again in the next batch.
   * `behind`: there are messages that the holder has not consumed, and nothing was written (`end` with `unlessBehind`).
   */
  readonly outcome: "written" | "lost" | "busy" | "behind";
  /** Still held by the worker after this commit. */
  readonly held: boolean;
  readonly delivered: number;
}

export interface CommitRunsResult {
  readonly outcomes: readonly CommitOutcome[];
  /** Unconsumed messages of runs that stay held because of them; saves a `readInbox`, and may be left out. */
  readonly messages: readonly Message[];
  readonly now: number;
}

export interface DeliverMessage {
  readonly to: RunRef;
  readonly kind: MessageKind;
  readonly name: string;
  readonly messageId: string;
  readonly payload: Payload;
}

export interface DeliverMessagesParams {
  readonly messages: readonly DeliverMessage[];
  /** Most messages of a run that may wait unconsumed. */
  readonly inboxMax: number;
}

export interface DeliverOutcome {
  readonly outcome: "delivered" | "duplicate" | "not_found" | "closed" | "full" | "busy";
  readonly runId: string | null;
  readonly status: RunStatus | null;
}

export interface DeliverMessagesResult {
  readonly outcomes: readonly DeliverOutcome[];
}

export interface ReadInboxParams {
  readonly runs: readonly { readonly runId: string; readonly after: number }[];
}

export interface ReadHistoriesParams {
  readonly runs: readonly { readonly runId: string; readonly afterSeq: number }[];
  readonly limitPerRun: number;
}

export interface TerminateRunsParams {
  readonly runs: readonly RunRef[];
  readonly error: ErrorRecord;
}

export interface TerminateOutcome {
  readonly outcome: "terminated" | "closed" | "not_found" | "busy";
  readonly runId: string | null;
  readonly status: RunStatus | null;
}

export interface TakeUpParams {
  readonly workerId: string;
  readonly claimId: string;
  readonly namespace: string;
  readonly queues: readonly string[];
  readonly handlers: readonly { readonly workflow: string; readonly version: string; readonly code: string }[];
  readonly limit: number;
}

export interface TakeUpResult {
  readonly live: boolean;
  readonly taken: number;
  readonly more: boolean;
}

export interface ReopenParams {
  readonly run: RunRef;
  readonly eventCount: number;
  readonly event: EventDraft;
}

export interface ReopenOutcome {
  readonly outcome: "reopened" | "not_failed" | "superseded" | "not_found" | "busy";
  readonly status: RunStatus | null;
}

export interface RegisterVersionsParams {
  readonly namespace: string;
  readonly versions: readonly { readonly workflow: string; readonly version: string; readonly hash: string }[];
}

export interface UpdateVersionParams {
  readonly namespace: string;
  readonly workflow: string;
  readonly version: string;
  readonly change: { readonly isDefault: true } | { readonly share: number } | { readonly deprecated: boolean };
}
