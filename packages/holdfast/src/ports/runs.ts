import type { ResultReceiver } from "../model/debt.ts";
import type { EndedRun } from "../model/ended-run.ts";
import type { ErrorRecord } from "../model/error-record.ts";
import type { Attributes, HistoryEvent } from "../model/event.ts";
import type { NewLock } from "../model/lock.ts";
import type { Message } from "../model/message.ts";
import type { Payload } from "../model/payload.ts";
import type { ClosedStatus, CompensationOutcome, NewRun, Run } from "../model/run.ts";
import type { NewTask } from "../model/task.ts";
import type { NewReply } from "./inbox.ts";
import type {
  ForkOutcome,
  ForkParams,
  PauseOutcome,
  PauseParams,
  ReopenOutcome,
  ReopenParams,
  RestartOutcome,
  RestartParams,
  ResumeOutcome,
  ResumeParams,
  TakeUpParams,
  TakeUpResult,
  TerminateOutcome,
  TerminateRunsParams,
} from "./interventions.ts";
import type { PurgeRunsParams, PurgeRunsResult } from "./purges.ts";
import type { ListedRun, ListRunsParams, RunFilter } from "./run-filter.ts";
import type { RunRef } from "./run-ref.ts";
import type {
  CarriedMessage,
  DebounceParams,
  RefusedStart,
  StartOutcome,
  StartRunsParams,
  StartRunsResult,
} from "./starts.ts";

export interface RunStore {
  /**
   * Creates runs, or finds the runs that already have their ids.
   * Precondition: names and ids are valid. Atomic per run; `replace` ends the old run and creates the new one together.
   * Idempotence key: `runId`. A start with `hold` is claimed in the same step by `holdBy`, if that worker is of the run's
   * namespace and not offline, and the run is due at once. A runId that belongs to a run of another namespace is refused.
   * The run is due at the later of `startAt` and the delay, but never after its deadline.
   * A start with `parent` is checked in the same step: `not_allowed` if the parent is of another namespace, which this one has not
   * let in; `parent_closed` if the parent is closed or gone, or has given up this child (`closes` of a commit). Then nothing is
   * created. Otherwise the run keeps its lineage, and the parent has one child more. A runId that exists is `created` before
   * any of that.
   * With `bounded`, a run that is not there yet is `queue_full`, and nothing is created, if as many runs wait in its queue as the
   * `backlog` of that allows: due and without a holder, or in line for a place. Calls at the same time may each take the last one.
   * `messages` are delivered in the same transaction to the run that the outcome names, unless that is `exists`: to a new run
   * as its first messages, to an open one as by `inbox.deliver`. If the newest run of the id, or one that it continues, has
   * had the first of them before, the call is a repetition: nothing is started or ended, and the outcome is `returned`. One that
   * was in vain (`wasInVain`) does not count once the newest run is closed.
   */
  start(params: StartRunsParams): Promise<StartRunsResult>;

  /**
   * Starts a run that is due after `forMs`. If an earlier call for the same workflow and key has started or changed one that is open, has
   * never been held and is not canceled, that one is what this start asks for instead (input, version, queue, priority, attributes, and
   * timeout, which counts from now), and is due `forMs` from now, but not later than `maxMs` after it was created, and not after its
   * deadline: `returned`. One that is parked stays parked. Precondition: no run has the id of the new one. Atomic. Idempotence key:
   * `runId` of the new run, until the next call for the key. `busy`: another transaction has locked the run.
   */
  debounce(params: DebounceParams): Promise<StartOutcome | RefusedStart>;

  /**
   * Claims due runs for a worker: epoch + 1, held by it, `running` (or still `compensating`), `startedAt` set if it was
   * null. Skips rows that another transaction has locked. Higher priority first, and within one workflow version and
   * priority the longest due first. Precondition: the worker is of this namespace and not offline, otherwise nothing is
   * claimed and `live` is false.
   * Idempotence key: `claimId`; with `again`, runs already claimed under this id are returned instead of claiming more.
   */
  claim(params: ClaimRunsParams): Promise<ClaimRunsResult>;

  /**
   * Appends events and advances runs: the only way in which a holder writes.
   * Precondition per run: the row carries exactly (epoch, commit) and is held by the worker that the commit names; the row
   * then has commit + 1, unless the commit is an `append`.
   * A row that carries (epoch, commit + 1) already contains this flush and counts as written. Any other pair: `lost`, and
   * nothing of that run is written now (an earlier call with a commit that stopped holding the run may have been).
   * An `append` whose first event is there already was written before, and counts as written. Nothing of the row changes with it but
   * `eventCount`, so it must be of a run that has made another commit with events since it was last claimed.
   * If messages were delivered that the holder has not consumed, `suspend` is left out and the run stays held; a commit with
   * `unlessBehind` is not written at all: `behind`, and the next commit has the same number.
   * A commit that parks the run appends `run_parked` (`parkNote`) behind its events, with the time of the store. That is no progress.
   * A later `availableAt` is never after the deadline; a run made due now is due now, here and in every other call.
   * Tasks are created, deleted and dropped, children are given up, and updates answered, exactly if the commit is written. Who
   * waits for the answers is hinted.
   * Every end of a run, in this call or another, is one function of the store. Unless it is `continued`: if the run has a
   * parent op or watchers, it owes a `result`, and it is no longer a child to close. In any case: if it has open children
   * whose policy is not `abandon`, it owes a `close`; if it has requested locks that it has not given back, it gives them back, and owes a `lock`. A run that continues hands its lineage and its watchers on, but not its children.
   * Idempotence key: (runId, epoch, commit); of an `append`, and the seq of its first event.
   */
  commit(params: CommitRunsParams): Promise<CommitRunsResult>;

  /**
   * Releases runs, due at once, without counting a death. Fenced by epoch; idempotent. Once this call, or any other that takes a run from
   * its holder, has been answered, nothing that the holder had on its way is written any more.
   */
  releaseIfHeld(params: ReleaseRunsParams): Promise<{ readonly released: number }>;

  /**
   * Takes a run from whoever holds it, for another worker: epoch + 1, so that the holder's next write is refused, due at once, and the
   * event (`run_restarted`) appended. It is not a death. Precondition: it is held, and has exactly this epoch, commit number and number of
   * events, so that nothing was recorded since the caller looked; otherwise `moved`, and nothing happens. Atomic; the holder is hinted.
   * Idempotence key: the epoch; a repeated call finds the run `moved`.
   */
  restartIfHeld(params: RestartParams): Promise<RestartOutcome>;

  /**
   * Takes up parked runs for a worker whose code may be able to continue them: runs that were parked with a `code`, if the
   * handler's code is none of those that have parked the run since it last made progress. They are held as if claimed under
   * `claimId`, with their error cleared and the event (`run_resumed`) appended: `claim` with `again` returns them to the worker. Only runs of these queues and
   * handlers, no suspects, at most `limit`; `more` says that some may be left. Progress, an operator's resume and a sweep
   * that parks the run clear the record of who parked it. Skips rows that another transaction has locked. Precondition: the
   * worker is not offline, otherwise nothing is taken and `live` is false; `limit` is at least 1. Atomic as a whole.
   * Idempotence: none is needed, what was taken is no longer parked, and is found under `claimId`. No errors but those of
   * every call.
   */
  holdIfParkedByOtherCode(params: TakeUpParams): Promise<TakeUpResult>;

  /**
   * Parks a run that nobody holds, because a person wants that: appends `run_parked` (`parkNote`), epoch + 1, `parked` with this
   * error, not due; no code takes it up. Also a run that is parked for another reason. Precondition: it is open and has exactly this
   * epoch, otherwise `moved`; nobody holds it, otherwise `held`; none of its unread messages is an order (`isOrder`), otherwise
   * `behind`. Atomic. Idempotence key: (run, epoch); after an answer that was lost, the event behind those that the
   * caller knows tells whether it was parked.
   */
  pauseIfIdle(params: PauseParams): Promise<PauseOutcome>;

  /**
   * Makes a parked run due again, now or at `dueAt`, if that is later: appends the event, epoch + 1, `running` (`pending`, if it was
   * never claimed), and clears its error and its deaths. Precondition: it is parked and has exactly this epoch; any other run is left alone,
   * and `resumed` is false. Idempotence key: (run, epoch).
   */
  resumeIfParked(params: ResumeParams): Promise<ResumeOutcome>;

  /**
   * Ends runs from outside, whether or not they are held: epoch + 1, so that a holder's next write is refused.
   * Its tasks go with it, except dead letters. Idempotence: a run that is already closed is left alone and reported as such.
   */
  terminate(params: TerminateRunsParams): Promise<readonly TerminateOutcome[]>;

  /**
   * Reopens a failed run: appends the event, epoch + 1, `running`, due now; error, end and deaths are cleared, and a
   * deadline, if it still has one, starts anew. A result that it still owes is forgotten, and its parent's close policy
   * applies to it again. Precondition: it is `failed`, it has exactly `eventCount` events, and no newer run has its id.
   * Idempotence: (run, eventCount); a run that is open and has more events counts as reopened.
   */
  reopenIfFailed(params: ReopenParams): Promise<ReopenOutcome>;

  /**
   * Creates a run whose history begins with the first events of another one, as they are, followed by the event. It is due at
   * once, `running` (`pending`, if the origin was never claimed), with an inbox that is empty: it has delivered and consumed
   * `numberedFrom`. It remembers its origin (`forkedFrom`) and has no lineage, tasks or children. The origin is not changed, and may be open
   * or closed. Precondition: the origin exists, it has at least `copied` events; it is not
   * compensating, and none of its events behind `judged` is about a compensation (`COMPENSATE_PREFIX`), otherwise `compensated`; and no run has the
   * id, open or closed, otherwise `exists`. Atomic. Idempotence key: `runId` of the
   * new run. A runId that belongs to a run of another namespace is refused.
   */
  fork(params: ForkParams): Promise<ForkOutcome>;

  /**
   * Has ops of other runs told of the ends of runs. Of an id the newest run counts; a run that continued as new is followed.
   * `ended`: it has ended already, in the way that the answer says, and nothing is noted. `watching`: it is open, and owes a
   * `result` to that op when it ends. `not_found`, also if a continuation of the run was purged. `not_allowed`: it is of a namespace that has not let in
   * the one of the watcher.
   * Atomic per watch. Idempotence key: (chain of the run, watcher).
   */
  watch(params: WatchRunsParams): Promise<readonly WatchOutcome[]>;

  /** The newest run of each requested id, or the run that the requested runId means; null if there is none. */
  read(params: { readonly runs: readonly RunRef[] }): Promise<readonly (Run | null)[]>;

  list(params: ListRunsParams): Promise<readonly ListedRun[]>;

  /** Counts no further than `atMost`. */
  count(params: RunFilter & { readonly atMost: number | null }): Promise<number>;

  /**
   * Deletes closed runs that ended before that time, with their events, inboxes, dead letters and the list of their children: the
   * oldest first, of at most `limit` that may go; with `runIds` only of those. A run that owes something stays. The
   * message ids of a chain stay as long as one of its runs does. For messages, a run whose continuation was purged is
   * `not_found`. Skips rows that another transaction has locked. Precondition: `limit` is at least 1. Atomic as a whole.
   * Idempotence: none is needed, a repeated call continues where the first one ended; but a start under a purged runId is a
   * new start. No errors but those of every call.
   */
  purge(params: PurgeRunsParams): Promise<PurgeRunsResult>;
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
  /** Claim one suspect and mark it as alone; otherwise suspects are skipped. */
  readonly solo: boolean;
}

export interface ClaimRunsResult {
  readonly live: boolean;
  readonly runs: readonly Run[];
  /** Unconsumed messages of the claimed runs, in order. */
  readonly messages: readonly Message[];
  readonly now: number;
  /**
   * Due runs were left: because of the limit, or because another transaction has locked them. Those that are still to be sorted into a line,
   * and could not begin now anyway, do not count: `nextDueAt` says when to ask again.
   */
  readonly moreDue: boolean;
  /** When the earliest run that this claim could take and that is not due yet becomes due. */
  readonly nextDueAt: number | null;
  /** A suspect is due: a worker should empty itself and claim it alone. */
  readonly suspectDue: boolean;
}

export type Transition =
  /** Keep holding it. */
  | { readonly type: "hold"; readonly status: "running" | "compensating" }
  /**
   * Keep holding it, and add its events, of which there is at least one: nothing else changes. `consumed` is what the row has; attributes,
   * tasks, children, replies, locks and the deadline are left alone.
   */
  | { readonly type: "append" }
  /** Stop holding it until `availableAt`, or until a message comes. */
  | {
      readonly type: "suspend";
      readonly status: "sleeping" | "waiting" | "compensating";
      readonly availableAt: number | null;
      readonly waitingFor: readonly string[];
    }
  /** Stop holding it, due at once (drain, fairness). */
  | { readonly type: "release" }
  | {
      readonly type: "end";
      readonly status: Exclude<ClosedStatus, "continued" | "terminated" | "moved">;
      readonly output: Payload | null;
      readonly error: ErrorRecord | null;
      /** Write nothing of this commit if there are unconsumed messages: the code may want to see them first. */
      readonly unlessBehind: boolean;
      readonly compensation: CompensationOutcome | null;
    }
  /** End as `continued` and create the successor of the same id: its inbox is the carried and then the unconsumed messages. */
  | { readonly type: "continue"; readonly next: NewRun; readonly carried: readonly CarriedMessage[] }
  /**
   * No code here can safely continue it. `code`: the code that parked it, if other code may be able to (see
   * model/parked-by.ts).
   */
  | {
      readonly type: "park";
      readonly error: ErrorRecord;
      readonly code?: string;
      /** A person has paused it: no code takes it up, and a cancel makes it due. */
      readonly paused?: true;
      /** Write nothing of this commit if there are unconsumed messages: one may say that the run is to go on. */
      readonly unlessBehind?: boolean;
    };

export interface RunCommit {
  readonly namespace: string;
  readonly runId: string;
  /** The worker that holds it. Commits of one call may belong to different workers. */
  readonly workerId: string;
  readonly epoch: number;
  readonly commit: number;
  /** Consecutive, and behind those that the run has. Events reset the death count: they are progress. */
  readonly events: readonly HistoryEvent[];
  /**
   * How many events the run has with these. The row of a run that is held may not know. If a `park` has no events, the store counts for
   * itself: it may follow a commit that was refused, of which an earlier copy took effect.
   */
  readonly eventCount: number;
  /** Messages 1…consumed are in history with this commit. */
  readonly consumed: number;
  /** Replaces all of them; null leaves them as they are. */
  readonly attributes: Attributes | null;
  /** The deadline was handled, or no longer counts because the run is being wound up. Clears it. */
  readonly clearDeadline: boolean;
  /** Tasks that these events schedule. */
  readonly tasks?: readonly NewTask[];
  /**
   * Tasks of this run, by seq, that go with this commit, whatever has become of them. Whoever holds one is hinted, unless it
   * is the worker of this commit.
   */
  readonly settled?: readonly number[];
  /** The same for all tasks of this run, except dead letters and those that this commit creates. */
  readonly dropTasks?: boolean;
  /** Results (`isResult`) among the consumed messages, by number: their messages are deleted. */
  readonly results?: readonly number[];
  /**
   * Children that the run no longer wants, by run id. Their policy is applied to them as if the run had ended: the run
   * owes a `close`, unless the policy is `abandon` or the child has ended. A child that does not exist yet never will: its start is refused from then on.
   */
  readonly closes?: readonly string[];
  /** Updates among the messages that are consumed, now or before, of which this commit decides something. */
  readonly replies?: readonly NewReply[];
  /** Requests for locks that these events make. They wait until `locks.pass` grants them. None is made if the commit ends the run. */
  readonly locks?: readonly NewLock[];
  /**
   * Requests that the run gives back, by seq, granted or not, before any of `locks` is made: the run owes a `lock`. One that is gone is
   * left alone.
   */
  readonly unlocks?: readonly number[];
  readonly transition: Transition;
}

export interface CommitRunsParams {
  readonly commits: readonly RunCommit[];
}

export interface CommitOutcome {
  /**
   * `busy`: another transaction has locked the row; send the same commit again in the next batch. An `append` is busy only while
   * another transaction takes the run away.
   * `behind`: there are messages that the holder has not consumed, and nothing was written (`unlessBehind`).
   */
  readonly outcome: "written" | "lost" | "busy" | "behind";
  /** Still held by the worker after this commit. */
  readonly held: boolean;
  /** Of an `append`, it may be older than the commit. */
  readonly delivered: number;
  /** Which of its tasks with `holdBy` are held by that worker since this commit, by seq; absent if none has it. */
  readonly tasksHeld?: readonly number[];
  /** The run owes something; absent if not. Also when the commit had been written before. */
  readonly owes?: true;
  /**
   * The number of that debt, if it is a `result` for an op of the parent and for nobody else, and the run owes nothing besides:
   * whoever has made the commit knows all that paying it takes. May be left out.
   */
  readonly debtNo?: number;
}

export interface CommitRunsResult {
  readonly outcomes: readonly CommitOutcome[];
  /** Unconsumed messages of runs that stay held because of them; saves an `inbox.read`, and may be left out. */
  readonly messages: readonly Message[];
  readonly now: number;
}

export interface HeldRun {
  readonly runId: string;
  readonly epoch: number;
}

/** A run that a worker holds, and how far it has come: whoever finds the same numbers again knows that nothing was recorded meanwhile. */
export interface HeldRunState extends HeldRun {
  readonly commit: number;
  readonly eventCount: number;
}

export interface ReleaseRunsParams {
  readonly namespace: string;
  readonly workerId: string;
  readonly runs: readonly HeldRun[];
  /**
   * A guest that executed them for the worker has died; `alone`: and it executed nothing else. That counts like a death of the worker. It
   * parks nothing, and makes no suspects: guests do not take each other down.
   */
  readonly died?: { readonly alone: boolean };
}

export interface WatchRunsParams {
  readonly watches: readonly { readonly run: RunRef; readonly by: ResultReceiver }[];
}

export interface WatchOutcome {
  readonly outcome: "ended" | "watching" | "not_found" | "not_allowed" | "busy";
  readonly end: EndedRun | null;
}
