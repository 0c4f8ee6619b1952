/**
 * The store: the source of truth about runs, their histories, inboxes and tasks, and workers. Its calls are grouped by noun, one
 * file each.
 *
 * What every method promises, so that adapters and engine agree:
 * 1. Each call is atomic: all of it happens, or none. Calls that take many runs decide each run separately and answer per
 * run. Within one call each run and each id occurs once, except that several messages may go to one run: they are numbered
 * in the order of the call.
 * 2. Each call is idempotent under the ids that the caller made (runId, messageId, claimId, epoch and commit number): the
 * caller may repeat it, unchanged, after an unknown outcome.
 * 3. Due times and leases are judged by the store's own clock; every reply with `now` reports it. That clock may be set
 * back: a run does not start before it was created, and neither its end nor its retry is earlier than its start or its last
 * event.
 * 4. Errors: `store_unavailable` (nothing happened), `store_outcome_unknown` (it may have happened: repeat the call),
 * `store_refused` (the data of this call was refused as a whole: repeating it cannot help, but a part of it may pass).
 * The first two have `data.unreachable` if the store was not reached, or the connection was lost: a write that fails otherwise
 * counts as a sign that the store can be read, and not written.
 * Everything else is a bug. An outcome `busy` means that another transaction has locked the row: repeat it unchanged.
 * 5. Ids of runs, workers and claims are lower-case UUIDs; run ids are time-ordered (version 7). Payloads, error records and
 *    event metadata are opaque to the store.
 * 6. After a commit the store publishes hints through its notifier; nothing may depend on them.
 * 7. Each call names the namespace of every run and every worker that it concerns. A run or a worker of another namespace
 * does not exist for the call, even if the caller knows its id: `not_found`, `lost`, null, nothing to read, not `live`. Only
 * `workers.sweep`, `workers.readLeader`, `debts.read`, `schedules.due` and `retention.list` cover all namespaces.
 */
import type { AskStore } from "./asks.ts";
import type { StoreCapabilities } from "./capabilities.ts";
import type { DebtStore } from "./debts.ts";
import type { HistoryStore } from "./histories.ts";
import type { InboxStore } from "./inbox.ts";
import type { LockStore } from "./locks.ts";
import type { NamespaceStore } from "./namespaces.ts";
import type { PayloadStore } from "./payloads.ts";
import type { QueueStore } from "./queues.ts";
import type { RetentionStore } from "./retention.ts";
import type { RunStore } from "./runs.ts";
import type { ScheduleStore } from "./schedules.ts";
import type { SegmentStore } from "./segments.ts";
import type { TaskStore } from "./tasks.ts";
import type { TransactParams, TransactResult } from "./transact.ts";
import type { TransferStore } from "./transfers.ts";
import type { VersionStore } from "./versions.ts";
import type { WorkerStore } from "./workers.ts";

export type * from "./asks.ts";
export type * from "./capabilities.ts";
export type * from "./debts.ts";
export type * from "./histories.ts";
export type * from "./inbox.ts";
export type * from "./interventions.ts";
export type * from "./locks.ts";
export type * from "./namespaces.ts";
export type * from "./payloads.ts";
export type * from "./purges.ts";
export type * from "./queues.ts";
export type * from "./retention.ts";
export type * from "./run-filter.ts";
export type * from "./run-ref.ts";
export type * from "./runs.ts";
export type * from "./schedules.ts";
export type * from "./segments.ts";
export type * from "./starts.ts";
export type * from "./tasks.ts";
export type * from "./transact.ts";
export type * from "./transfers.ts";
export type * from "./versions.ts";
export type * from "./workers.ts";

/** The calls of a store, by noun. */
export interface StoreGroups {
  readonly runs: RunStore;
  readonly histories: HistoryStore;
  readonly segments: SegmentStore;
  readonly inbox: InboxStore;
  readonly tasks: TaskStore;
  readonly versions: VersionStore;
  readonly workers: WorkerStore;
  readonly debts: DebtStore;
  readonly locks: LockStore;
  readonly queues: QueueStore;
  readonly namespaces: NamespaceStore;
  readonly asks: AskStore;
  readonly payloads: PayloadStore;
  readonly schedules: ScheduleStore;
  readonly retention: RetentionStore;
  readonly transfers: TransferStore;
}

export interface Store extends StoreGroups {
  /** What this store can do beyond what every store does. Check this, never which store it is. */
  readonly capabilities: StoreCapabilities;

  /**
   * Only if `capabilities.transactions` says so: a function cannot be sent to a store over a network.
   * Does the application's own work and puts its result message into the inbox of a held run, in one transaction: both or
   * neither.
   * Precondition, judged on the locked row at the end: the run carries this epoch and is held by this worker, otherwise
   * `lost` and nothing happened. Makes nothing due and sends no hint: the caller holds the run.
   * Idempotence key: (run, messageId). There is one result message, however often the call is repeated: a second call
   * returns the first one.
   * An error thrown by `work` is rethrown, and nothing happened. If `signal` is aborted before the end, its reason is
   * thrown, and nothing happened. After `store_outcome_unknown` the call is repeated with `again`.
   */
  transact?(params: TransactParams): Promise<TransactResult>;

  /** The time by the store's clock, for judging the times in its rows. */
  readClock(): Promise<{ readonly now: number }>;

  close(): Promise<void>;
}
