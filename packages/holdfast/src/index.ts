export type { Batch, BatchOptions, BatchSignalArguments } from "./client/batches/batch.ts";
export type { BatchResult, SkippedRun } from "./client/batches/batch-result.ts";
export type { ByRunId } from "./client/call-checks.ts";
export type { Cause, CauseKind, CauseLimit } from "./client/cause.ts";
export type { Client } from "./client/client.ts";
export type { ClientInTransaction } from "./client/client-in-transaction.ts";
export type {
  ConnectOptions,
  CountOptions,
  DebounceOptions,
  ListFilter,
  ListOptions,
  PurgeOptions,
  StartOptions,
} from "./client/client-options.ts";
export { connect } from "./client/connect.ts";
export type { ErrorView } from "./client/error-view.ts";
export type { EditedOutcome, ForkOptions } from "./client/fork.ts";
export type {
  DueWork,
  Health,
  HealthStatus,
  QueueHealth,
  Readiness,
  StoreHealth,
  TimerHealth,
  WorkerHealth,
} from "./client/health.ts";
export type { EventWindow, HistoryOptions } from "./client/history-window.ts";
export type { RunPage } from "./client/list-runs.ts";
export type { LockHolder, Locks, LockView, LockWaiter } from "./client/locks.ts";
export type { Namespaces } from "./client/namespaces.ts";
export type { OpOrigin } from "./client/op-times.ts";
export type { OperatorOptions } from "./client/operations.ts";
export type { KeyOptions, Load, QueueHolder, QueueOptions, QueueRate, Queues, QueueView } from "./client/queues.ts";
export type { Rate, RateOptions } from "./client/rates.ts";
export type { ReencodeOptions, ReencodeProgress } from "./client/reencode.ts";
export type { ResultOptions } from "./client/result-options.ts";
export type { Retention, RetentionOptions } from "./client/retention.ts";
export type { RunHandle, SignalArguments } from "./client/run-handle.ts";
export type { EventView, ParentName, RunDescription, RunSummary } from "./client/run-view.ts";
export type { ScheduleHandle, ScheduleRunsOptions } from "./client/schedules/schedule-handle.ts";
export type { FailingSchedule } from "./client/schedules/schedule-health.ts";
export type {
  BackfillOptions,
  BackfillProgress,
  CatchUpOptions,
  ScheduledInput,
  ScheduledStartOptions,
  ScheduleListOptions,
  ScheduleOptions,
  SchedulePauseOptions,
  ScheduleRules,
  ScheduleUpdate,
  SomeTimes,
} from "./client/schedules/schedule-options.ts";
export type {
  ScheduleDecisionView,
  ScheduleDescription,
  SchedulePage,
  ScheduleStatus,
  ScheduleSummary,
} from "./client/schedules/schedule-view.ts";
export type { Schedules } from "./client/schedules/schedules.ts";
export type { ShortWhy } from "./client/short-why.ts";
export type { StartManyOutcome } from "./client/start-many.ts";
export type { HandleOf, StartArguments, StartedMany, StartRequest } from "./client/start-request.ts";
export type { StepView } from "./client/step-view.ts";
export type { TaskListOptions, TaskPage, Tasks, TaskView } from "./client/tasks.ts";
export type { ExportOptions, ImportOptions } from "./client/transfers/export-runs.ts";
export type { MoveOptions } from "./client/transfers/move-runs.ts";
export type { SkippedTransfer, TransferResult } from "./client/transfers/transfer-result.ts";
export type { AcceptedUpdate, UpdateArguments, UpdateOptions } from "./client/updates.ts";
export type { Versions } from "./client/versions.ts";
export type { WatchedEvent, WatchOptions } from "./client/watch.ts";
export type { Why } from "./client/why.ts";
export type { RequestedCancel } from "./client/why-causes.ts";
export type {
  SignalWithStartOptions,
  StartedUpdate,
  UpdateWithStartOptions,
  WithStartInput,
} from "./client/with-start.ts";
export type { WorkerEvent, WorkerEventOptions, WorkerEventPage, Workers } from "./client/workers.ts";
export { jsonCodec } from "./codec/json-codec.ts";
export { type Argument, query, update } from "./define/conversations.ts";
export {
  type AnyWorkflow,
  type InputOf,
  type KeyFunction,
  type MaybeQueries,
  type MaybeSchema,
  type MaybeSignals,
  type MaybeUpdates,
  type NotOffered,
  type OffersOf,
  type OutputOf,
  type Received,
  signal,
  type WorkflowDefinition,
  type WorkflowFunction,
  type WorkflowOptions,
  workflow,
} from "./define/definitions.ts";
export { type ExternalTaskOptions, type TaskOptions, task } from "./define/task.ts";
export type { TaskPoolOptions } from "./engine/pool/pool-options.ts";
export type { PoolProcessStatus, RestartReason, TaskPoolStatus } from "./engine/pool/pool-stats.ts";
export { serveTasks } from "./engine/pool/serve-tasks.ts";
export type { Alert, WatchdogOptions, WatchdogRule, WebhookOptions } from "./engine/watchdog/watchdog-options.ts";
export type { ReplayedRun, VerifyReplayOptions } from "./engine/worker/verify-replay.ts";
export type { Worker } from "./engine/worker/worker.ts";
export type { WorkerOptions, WorkerTuning } from "./engine/worker/worker-options.ts";
export { ERROR_CODES, type ErrorCode } from "./errors/codes.ts";
export { type ErrorJson, HoldfastError, type HoldfastErrorOptions, isHoldfastError } from "./errors/holdfast-error.ts";
export type { RetryIf, RetryInfo } from "./errors/retry-rule.ts";
export {
  RecordedError,
  RunCanceledError,
  type RunError,
  type RunErrorData,
  type RunErrorInit,
  RunFailedError,
  RunParkedError,
  RunTerminatedError,
  RunTimedOutError,
} from "./errors/run-errors.ts";
export { NonRetryableError, RetryableError, type RetryableErrorOptions } from "./errors/step-errors.ts";
export type { ByteSize } from "./model/byte-size.ts";
export type { EveryTimes, ScheduleTimes } from "./model/calendar-spec.ts";
export type { CheckedDuration } from "./model/checked-duration.ts";
export type { ChildIdentity, ClosePolicy, RunName } from "./model/child.ts";
export type { Duration, DurationParts } from "./model/duration.ts";
export { ERROR_KINDS, type ErrorKind } from "./model/error-kind.ts";
export type { ErrorRecord } from "./model/error-record.ts";
export type { Attributes, AttributeValue, EventType } from "./model/event.ts";
export type { Detector, WatchdogAction } from "./model/finding.ts";
export { DEFAULT_LIMITS, type Limits } from "./model/limits.ts";
export type { Payload } from "./model/payload.ts";
export type { RetryPolicy } from "./model/retry-policy.ts";
export type { ClosedStatus, OpenStatus, RunStatus } from "./model/run.ts";
export type { OverlapPolicy, ScheduleDecision } from "./model/schedule.ts";
export type { Stored, Synchronous } from "./model/stored.ts";
export type { TaskFailure, TaskSpec, TaskStatus } from "./model/task.ts";
export type { TraceHeaders } from "./model/trace-context.ts";
export type { StartDefaults, VersionRow } from "./model/version-row.ts";
export type { WorkerAbout, WorkerLoad, WorkerMoment, WorkerPace, WorkerRow, WorkerStatus } from "./model/worker-row.ts";
export type { Codec } from "./ports/codec.ts";
export { type Logger, type LogMethod, type RunLogger, silentLogger } from "./ports/logger.ts";
export type { Durability, MigrateMode, StoreAdapter, StoreOptions, TlsOptions } from "./ports/open-store.ts";
export {
  COUNT_METRICS,
  type CountMetric,
  DURATION_METRICS,
  type DurationMetric,
  LEVEL_METRICS,
  type LevelMetric,
  type MetricAbout,
  type SignalAbout,
  type Span,
  type SpanAbout,
  type StartAbout,
  type Telemetry,
  type TelemetryLabels,
} from "./ports/telemetry.ts";
export type {
  Branch,
  Branches,
  BranchList,
  BranchMap,
  ChildArguments,
  ChildHandle,
  CollectAll,
  Context,
  ContinueArguments,
  HeldLock,
  LockOptions,
  Outcomes,
  ParallelOptions,
  RaceResult,
  RunInfo,
  RunTarget,
  SentPayload,
  Settled,
  SignalDefinition,
  SignalsOf,
  TaskArguments,
} from "./replay/context/context.ts";
export type {
  Answer,
  QueryArguments,
  QueryDefinition,
  QueryHandler,
  UpdateDefinition,
  UpdateFunction,
  UpdateHandler,
} from "./replay/context/conversations.ts";
export type { OfferedNames, Offers } from "./replay/context/offers.ts";
export type { ChildOptions } from "./replay/ops/child-options.ts";
export type { ChildDefinition, StepStartOptions } from "./replay/ops/start-options.ts";
export type {
  Compensation,
  CompensationInfo,
  FixedRetry,
  GrowingRetry,
  RetryOption,
  StepFunction,
  StepInfo,
  StepOptions,
  StepStartArguments,
} from "./replay/ops/step-options.ts";
export type {
  AnyTask,
  TaskCallOptions,
  TaskDefinition,
  TaskFunction,
  TaskInfo,
  TaskSettings,
} from "./replay/ops/task-options.ts";
export type { OnBug } from "./replay/run-code.ts";
