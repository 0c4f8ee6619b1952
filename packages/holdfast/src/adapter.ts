/** For packages that implement the ports: the ports themselves, the model, the errors. It may change in any minor version. */
export { readSpec, timesBetween } from "./calendar/index.ts";
export { isCloseReason } from "./calls/close-reason.ts";
export type { Client } from "./client/client.ts";
export type { ClientInTransaction, JoinedCalls } from "./client/client-in-transaction.ts";
export { type ClientStore, clientStore } from "./client/client-on.ts";
export { type OpenedClients, openClients } from "./client/connect.ts";
export { clientInTransaction } from "./client/in-transaction.ts";
export { queueLimits } from "./client/queues.ts";
export { summarizeRun } from "./client/run-view.ts";
export { type GuestWorkflowParams, guestWorkflow } from "./define/guest-workflow.ts";
export { type GuestWorker, guestWorker } from "./engine/worker/guest-worker.ts";
export { isErrorCode } from "./errors/codes.ts";
export { HoldfastError, type HoldfastErrorOptions, isHoldfastError } from "./errors/holdfast-error.ts";
export {
  checkedLater,
  checkOptions,
  invalidOption,
  isBoolean,
  isFunction,
  isText,
  listOf,
  type OptionCheck,
  type OptionChecks,
  objectWith,
  oneOf,
  optionsOf,
  wholeNumber,
} from "./errors/option-checks.ts";
export { type OnThrow, shouldRetry } from "./errors/retry-rule.ts";
export {
  hasCredentials,
  readServerUrl,
  type ServerUrl,
  secretsOf,
  shownUrl,
  withoutSecrets,
} from "./errors/shown-url.ts";
export {
  type Backlog,
  type DueCount,
  gatherBacklog,
  type LaneBacklog,
  type RunBacklog,
  type RunKind,
  type TaskBacklog,
  type TaskKind,
} from "./model/backlog.ts";
export { batchNamespace, isBatchNamespace, RESERVED_PREFIX } from "./model/batch.ts";
export type { CalendarSpec } from "./model/calendar-spec.ts";
export { CLOSE_POLICIES, type ClosePolicy, type Lineage, type RunName } from "./model/child.ts";
export {
  type ChildToClose,
  DEBT_OVERDUE_MS,
  DEBT_PAGE,
  type Debt,
  type DebtKind,
  type DebtRow,
  type ReplyToTell,
  type ResultReceiver,
} from "./model/debt.ts";
export {
  type Admission,
  admit,
  agedPriority,
  type Bucket,
  type KeyRest,
  type KeyState,
  keyLimits,
  type Lines,
  limitedFirst,
  nextTokenAt,
  type Pace,
  type PlaceState,
  paceAfter,
  paceNow,
  sortAgainAt,
  sortedAtEachEnd,
} from "./model/decisions/admission.ts";
export { type ArrivalRefusal, type Arriving, type AtArrival, judgeArrival } from "./model/decisions/arrival.ts";
export { ASK_TAKE_MS, isOpenAsk } from "./model/decisions/ask.ts";
export {
  type FencedRun,
  isSameEvent,
  judgeAppend,
  judgeCommit,
  keepsHolding,
  type SentAppend,
  type SentCommit,
  staysHeld,
  storeCounts,
} from "./model/decisions/commit.ts";
export { afterGuest, afterHolder, type DeathMarks } from "./model/decisions/dead-holder.ts";
export {
  isMoved,
  judgeDelivery,
  type MessageReceiver,
  mayTake,
  type UpdateStage,
  updateStage,
  wakes,
  wakeTime,
  wasInVain,
} from "./model/decisions/delivery.ts";
export { deadlineFrom, dueTime, earlier, firstDueTime, isDue } from "./model/decisions/due-time.ts";
export { judgeReopening, renewedDeadline } from "./model/decisions/reopening.ts";
export { type NarrowingFilter, narrowed, waitsFor } from "./model/decisions/run-filter.ts";
export { isOpen, mustLook, remembered } from "./model/decisions/schedule.ts";
export { mayAddSegments, type PackedRun } from "./model/decisions/segments.ts";
export { creationTime, judgeParent, judgeStart, startTime } from "./model/decisions/start.ts";
export {
  afterTaskHolder,
  afterTaskProcess,
  type Expiry,
  expiryWhenCanceled,
  expiryWhenDue,
  expiryWhenHeld,
  type FencedTask,
  judgeFinish,
  type ProcessDeath,
  TASK_CANCEL_MS,
  TASK_GRACE_MS,
  type TaskFinisher,
  type TaskTimes,
} from "./model/decisions/task.ts";
export { type ChoosableVersion, chooseVersion } from "./model/decisions/version-choice.ts";
export { type EndedRun, endedRun } from "./model/ended-run.ts";
export { type ErrorRecord, listedError } from "./model/error-record.ts";
export {
  type Attributes,
  type AttributeValue,
  EVENT_TYPES,
  type EventDraft,
  type EventMeta,
  type EventType,
  type HistoryEvent,
  type RunIdentity,
  VALUE_EVENTS,
} from "./model/event.ts";
export {
  COMPENSATE_PREFIX,
  idempotencyKey,
  outcomeMessageId,
  taskMessageId,
  updateMessageId,
  uuidV7,
} from "./model/ids.ts";
export { DEFAULT_LIMITS } from "./model/limits.ts";
export { type LockRequest, lockMessageId, type NewLock } from "./model/lock.ts";
export { isOrder, isResult, isTaskResult, type Message, type MessageKind, type ReplyAddress } from "./model/message.ts";
export { nameFault, valueFault } from "./model/names.ts";
export { nearestName } from "./model/nearest-name.ts";
export { parkNote, resumeNote, senderOf, type Who } from "./model/operator-notes.ts";
export { BY_A_PERSON, type ParkedBy, withParker } from "./model/parked-by.ts";
export type { Payload } from "./model/payload.ts";
export {
  isInUse,
  MESSAGES_WITH_VALUE,
  numbersAfter,
  PAYLOAD_PARTS,
  type PayloadOwner,
  type PayloadPart,
  type PayloadPlace,
  type PlacedPayload,
  payloadPage,
} from "./model/payload-place.ts";
export {
  ADMITTED_MAX,
  NO_KEY,
  type PlaceHolder,
  type PlaceLimits,
  QUEUE_KINDS,
  type QueueKind,
  type QueueLimits,
  type QueueLoad,
  type QueueState,
  type RateLimit,
  SORTED_MAX,
  SORTED_MIN,
} from "./model/queue-limits.ts";
export type { RateRow } from "./model/rates.ts";
export { type RestText, restOfText, restText, type TaskText } from "./model/rest-text.ts";
export type { RetentionRules } from "./model/retention.ts";
export {
  CLOSED_STATUSES,
  type ClosedStatus,
  type CompensationOutcome,
  isClosed,
  type NewRun,
  OPEN_STATUSES,
  type OpenStatus,
  RUN_STATUSES,
  type Run,
  type RunData,
  type RunRow,
  type RunStatus,
  timeInHistory,
} from "./model/run.ts";
export { traceOf } from "./model/run-seed.ts";
export {
  DECISIONS_MAX,
  type OpenRun,
  OVERLAP_POLICIES,
  type OverlapPolicy,
  type Schedule,
  type ScheduleDecision,
  type ScheduleDefinition,
  type ScheduleState,
  scheduledId,
  scheduledRunId,
  scheduleIdOf,
} from "./model/schedule.ts";
export type { Segment } from "./model/segment.ts";
export type { Stored, Whole } from "./model/stored.ts";
export {
  type NewTask,
  TASK_STATUSES,
  type Task,
  type TaskExpiry,
  type TaskFailure,
  type TaskHold,
  type TaskKey,
  type TaskLimits,
  type TaskRow,
  type TaskStatus,
} from "./model/task.ts";
export { readToken, type TaskToken, writeToken } from "./model/task-token.ts";
export {
  departedRun,
  outOfLine,
  type RunImage,
  type RunRest,
  type RunTie,
  type TaskImage,
  type UpdateImage,
} from "./model/transfer.ts";
export type { StartDefaults, VersionRow } from "./model/version-row.ts";
export { isRetrying, RETRYING_SUFFIX, waitingForPlace } from "./model/waiting.ts";
export {
  HEARTBEAT_KEPT_EVERY_MS,
  type WorkerAbout,
  type WorkerLoad,
  type WorkerLogRow,
  type WorkerMoment,
  type WorkerPace,
  type WorkerRow,
  type WorkerStatus,
} from "./model/worker-row.ts";
export {
  type AccessKeyRow,
  type AccessStore,
  AUDIT_KEPT_MS,
  type AuditRow,
  isUsableKey,
  KEY_USE_NOTED_EVERY_MS,
  type ListAuditParams,
  type NamespaceChange,
  type NamespaceRow,
  type NamespaceSettings,
  type NewAccessKey,
  type NewAuditEvent,
  type NewNamespace,
  ROLES,
  type Role,
  type WebhookSettings,
} from "./ports/access.ts";
export type { Clock, Timer } from "./ports/clock.ts";
export type { Codec } from "./ports/codec.ts";
export type { Logger } from "./ports/logger.ts";
export { type NewRunDecisions, newRunRow } from "./ports/new-run-row.ts";
export type { Hint, Notifier } from "./ports/notifier.ts";
export type {
  Durability,
  MigrateMode,
  OpenedStore,
  OpenStore,
  OpenStoreOptions,
  StoreAdapter,
  StoreOptions,
  TlsOptions,
} from "./ports/open-store.ts";
export type { Random } from "./ports/random.ts";
export { storableOnly } from "./ports/storable-texts.ts";
export type {
  AddRatesParams,
  AddSegmentsParams,
  AnswerAsksParams,
  ArrivalOutcome,
  Ask,
  AskAnswer,
  AskStore,
  BacklogParams,
  BeatTasksParams,
  BeatTasksResult,
  CancelTasksParams,
  CancelTasksResult,
  CarriedMessage,
  ClaimRunsParams,
  ClaimRunsResult,
  ClaimTasksParams,
  ClaimTasksResult,
  CommitOutcome,
  CommitRunsParams,
  CommitRunsResult,
  DebounceParams,
  DebtStore,
  DeliverMessage,
  DeliverMessagesParams,
  DeliverMessagesResult,
  DeliverOutcome,
  DepartOutcome,
  DepartParams,
  Departure,
  DeparturesParams,
  DropSegmentsParams,
  DuePosition,
  DueSchedulesParams,
  DueSchedulesResult,
  EndPosition,
  ExpiredTasksResult,
  FinishOutcome,
  FinishTask,
  FinishTasksParams,
  FinishTasksResult,
  ForkOutcome,
  ForkParams,
  HeartbeatParams,
  HeartbeatResult,
  HeldRun,
  HeldRunState,
  HeldTask,
  HistoryStore,
  InboxStore,
  Leader,
  LeaderOutlook,
  ListedError,
  ListedRun,
  ListLocksParams,
  ListQueuesParams,
  ListRunsParams,
  ListSchedulesParams,
  ListTasksParams,
  ListWorkersParams,
  LockAnswer,
  LockAsk,
  LockStore,
  NamespacePair,
  NamespaceRetention,
  NamespaceStore,
  NewAsk,
  NewReply,
  PaidDebt,
  PassLocksParams,
  PassLocksResult,
  PauseOutcome,
  PauseParams,
  PayDebtsParams,
  PayloadStore,
  PurgeRunsParams,
  PurgeRunsResult,
  PutAsksParams,
  PutSchedule,
  PutScheduleOutcome,
  PutSchedulesParams,
  PutSchedulesResult,
  QueueStore,
  ReadAsksParams,
  ReadDebtsParams,
  ReadHistoriesParams,
  ReadInboxParams,
  ReadPayloadsParams,
  ReadRatesParams,
  ReadRepliesParams,
  ReadSegmentsParams,
  ReadTasksParams,
  ReadWorkerLogParams,
  RefusedStart,
  RegisteredVersion,
  RegisterVersionsParams,
  RegisterWorkerParams,
  RegisterWorkerResult,
  ReleaseRunsParams,
  ReopenOutcome,
  ReopenParams,
  ReplaceOutcome,
  ReplacePayload,
  ReplacePayloadsParams,
  ReplyState,
  RestartOutcome,
  RestartParams,
  ResumeOutcome,
  ResumeParams,
  RetentionStore,
  RunCommit,
  RunFilter,
  RunRef,
  RunSegments,
  RunStore,
  ScheduleOutlook,
  ScheduleRef,
  ScheduleStore,
  SegmentStore,
  SetQueueParams,
  SetQueueResult,
  StartOutcome,
  StartParent,
  StartRun,
  StartRunsParams,
  StartRunsResult,
  Store,
  StoreCapabilities,
  StoreGroups,
  SweepParams,
  SweepResult,
  TakeAsksParams,
  TakeAsksResult,
  TakeUpParams,
  TakeUpResult,
  TaskBeat,
  TaskResult,
  TaskStore,
  TerminateOutcome,
  TerminateRunsParams,
  TransactionCapability,
  TransactionKind,
  TransactParams,
  TransactResult,
  TransferParams,
  TransferRef,
  TransferStore,
  Transition,
  UpdateVersionParams,
  VersionStore,
  WatchOutcome,
  WatchRunsParams,
  WorkerRef,
  WorkerStore,
} from "./ports/store.ts";
export {
  callStore,
  hookedStore,
  STORE_METHODS,
  type StoreCalls,
  type StoreHooks,
  type StoreMethod,
  storeAround,
  storeOf,
} from "./ports/store-calls.ts";
export { checkStoreOptions } from "./ports/store-options.ts";
export { takenRunId } from "./ports/taken-run-id.ts";
export { passOver } from "./replay/code/call-site.ts";
export type { Context } from "./replay/context/context.ts";
export { askTransaction } from "./replay/context/run-context.ts";
export type { BegunStep, FailedStep, GuestEnd, GuestHost, GuestRun } from "./replay/guests/guest-run.ts";
export type { RunDeparture } from "./replay/machine.ts";
export {
  type ResolvedStepOptions,
  resolveStepOptions,
  type StepInfo,
  type StepOptions,
} from "./replay/ops/step-options.ts";
export type { TransactionWork } from "./replay/ops/step-work.ts";
export { systemPorts } from "./system/ports.ts";
