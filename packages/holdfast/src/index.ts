export { Client, type RunPage, type StartArguments, type StartRequest } from "./client/client.ts";
export type { ClientInTransaction } from "./client/client-in-transaction.ts";
export type { ConnectOptions, ListFilter, ListOptions, PurgeOptions, StartOptions } from "./client/client-options.ts";
export { connect } from "./client/connect.ts";
export type { Health, HealthStatus, WorkerHealth } from "./client/health.ts";
export { type ResultOptions, RunHandle, type SignalArguments } from "./client/run-handle.ts";
export type { EventView, RunDescription, RunSummary, StepView } from "./client/run-view.ts";
export type { Versions } from "./client/versions.ts";
export type { Why } from "./client/why.ts";
export type { WorkerEvent, Workers } from "./client/workers.ts";
export { jsonCodec } from "./codec/json-codec.ts";
export {
  type InputOf,
  type OutputOf,
  signal,
  type WorkflowDefinition,
  type WorkflowFunction,
  type WorkflowOptions,
  workflow,
} from "./define/definitions.ts";
export type { Worker } from "./engine/worker.ts";
export type { WorkerOptions, WorkerTuning } from "./engine/worker-options.ts";
export { ERROR_CODES, type ErrorCode } from "./errors/codes.ts";
export { HoldfastError, isHoldfastError } from "./errors/holdfast-error.ts";
export type { RetryIf } from "./errors/retry-rule.ts";
export {
  RecordedError,
  RunCanceledError,
  RunFailedError,
  RunParkedError,
  RunTerminatedError,
  RunTimedOutError,
} from "./errors/run-errors.ts";
export { NonRetryableError, RetryableError } from "./errors/step-errors.ts";
export type { Duration } from "./model/duration.ts";
export { ERROR_KINDS, type ErrorKind } from "./model/error-kind.ts";
export type { ErrorRecord } from "./model/error-record.ts";
export type { Attributes, AttributeValue, EventType } from "./model/event.ts";
export { DEFAULT_LIMITS, type Limits } from "./model/limits.ts";
export type { ClosedStatus, RunStatus } from "./model/run.ts";
export type { VersionRow } from "./model/version-row.ts";
export type { WorkerRow, WorkerStatus } from "./model/worker-row.ts";
export type { Codec } from "./ports/codec.ts";
export { type Logger, silentLogger } from "./ports/logger.ts";
export { COUNT_METRICS, DURATION_METRICS, type StepSpan, type Telemetry } from "./ports/telemetry.ts";
export type { Branch, Branches, ParallelOptions } from "./replay/branches.ts";
export type { Context, RunInfo, SignalDefinition } from "./replay/context.ts";
export type {
  Compensation,
  CompensationInfo,
  RetryOption,
  StepFunction,
  StepInfo,
  StepOptions,
} from "./replay/step-options.ts";
